"""Episode statistics: the recorder of a creature's episode, and the handle by which its results are read."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from kinemorph.creatures.episodes.layout import BRAIN_RECORD, EPISODE, EPISODE_KIND, WINDOW
from kinemorph.creatures.episodes.step_statistics import refresh_record, run_recorded_steps
from kinemorph.multibody.tables import BYTE, in_one_piece
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.structure.forest.validation import require, require_finite
from kinemorph.world.brains.brain_instances import BrainInstance, BrainInstances
from kinemorph.world.control.step_recorder import StepRecorder
from kinemorph.world.world import World

KIND = "episode statistics"
WINDOW_LENGTH = 2.0  # s, in which the swing of joints is measured
UNLIMITED_WORK = 1 << 62
COST = ("start", "energy", "done", "effort", "conveyed", "surplus", "work", "budget")
LAYOUT_FIELDS = ("generation", "effects", "effect_count")
ADDRESSES = ("brains", "windows")
NO_RECORDS, NO_WINDOWS = np.zeros(0, BRAIN_RECORD), np.zeros(0, WINDOW)


class EpisodeRecorder(StepRecorder, kind=KIND):
    """Owner of the rows of an episode, which the kernels of `episodes.step_statistics` write."""

    measures_overlap = True  # `depth` does

    def __init__(self, header: Any, records: Any = NO_RECORDS, windows: Any = NO_WINDOWS) -> None:
        self.header, self.records, self.windows = header, records, windows
        self.address = int(header.ctypes.data)
        self.driven: Any = np.zeros(0, np.bool_)  # of each effect, whether it drives a joint

    @classmethod
    def begin(cls, dt: float, settings: dict[str, Any]) -> Self:
        budget, until_still = settings.get("budget", UNLIMITED_WORK), settings.get("until_still", math.inf)
        numbers = isinstance(budget, int) and isinstance(until_still, float | int)
        if not numbers or not until_still > 0.0 or not 0 <= budget <= UNLIMITED_WORK:
            raise ValueError(f"begin_statistics: {budget} and {until_still} are not a budget and a time")
        header = np.zeros(1, EPISODE)
        header["kind"], header["window"] = EPISODE_KIND, round(WINDOW_LENGTH / dt)
        header["budget"], header["until_still"] = budget, until_still
        return cls(header)

    def follow(self, brains: BrainInstances) -> None:
        minds = brains["minds"]
        rooms = len(minds), len(brains["effects"])
        (header, records, windows), (address, first, second) = in_one_piece(
            (1, EPISODE), (rooms[0], BRAIN_RECORD), (rooms[1], WINDOW)
        )
        header[:] = self.header
        header["brains"], header["windows"], header["brain_room"], header["window_room"] = first, second, *rooms
        for i in np.flatnonzero(minds["body"] >= 0).tolist():
            mind, record = minds[i], records[i]
            start, count = int(mind["effects"]), int(mind["effect_count"])
            old = self.records[i] if i < len(self.records) else None
            if old is not None and (old["generation"], old["effect_count"]) == (mind["generation"], count):
                records[i] = old
                windows[start : start + count] = self.windows[int(old["effects"]) :][:count]
            else:
                record["highest"] = record["top"] = -math.inf
                record["smallest_gap"] = math.inf
            record["generation"], record["effects"], record["effect_count"] = mind["generation"], start, count
        self.header, self.address, self.records, self.windows = header, address, records, windows
        self.driven = brains["effects"]["drive"] >= 0

    def run_steps(self, address: int, count: int, most: int) -> tuple[int, int]:
        status, left = run_recorded_steps(address, self.address, count, most)
        return status, left

    def refresh(self, address: int) -> None:
        refresh_record(address, self.address)

    def state(self) -> Any:
        header = self.header.copy()
        for name in ADDRESSES:
            header[name] = 0
        return tuple(np.frombuffer(rows.tobytes(), BYTE) for rows in (header, self.records, self.windows))

    @classmethod
    def of_state(cls, state: Any) -> Self:
        require(isinstance(state, tuple) and len(state) == 3, "an episode has other parts")
        header, records, windows = (
            _rows(content, dtype) for content, dtype in zip(state, (EPISODE, BRAIN_RECORD, WINDOW), strict=True)
        )
        require(len(header) == 1 and header["kind"][0] == EPISODE_KIND, "an episode has another layout")
        h = header[0]
        require((len(records), len(windows)) == (h["brain_room"], h["window_room"]), "an episode has other rooms")
        good = 0 <= h["work"] < UNLIMITED_WORK and 0 <= h["window"] < 1 << 40 and 0 <= h["budget"] <= UNLIMITED_WORK
        require(good and h["until_still"] > 0.0, "an episode has no such time or budget")
        require_finite(header, "an episode", {"until_still"})
        require_finite(records, "records of brains", {"highest", "top", "smallest_gap", "lowest", "gap"})
        require_finite(windows, "windows of joints")
        first, count = records["effects"], records["effect_count"]
        good = (first >= 0) & (count >= 0) & (first <= len(windows)) & (count <= len(windows) - first)
        require(bool(good.all()), "an episode has no such windows")
        return cls(header, records, windows)


def _rows(content: Any, dtype: Any) -> Any:
    """Rows of a dtype from their bytes, in memory of their own."""
    require(isinstance(content, np.ndarray) and content.dtype == BYTE and content.ndim == 1, "an episode is no bytes")
    require(len(content) % dtype.itemsize == 0, "an episode has parts of rows")
    return np.frombuffer(content.tobytes(), dtype).copy()


@checked_on_failure
class EpisodeStatistics:
    """Statistics of a world since `begin_statistics`. Copies, and worlds that were restored, have theirs too."""

    __slots__ = ("world",)

    def __init__(self, world: World) -> None:
        self.world = world
        self._recorder()  # raises if there are none

    def _recorder(self) -> EpisodeRecorder:
        recorder = self.world.step_recording.recorder
        if not isinstance(recorder, EpisodeRecorder):
            raise ValueError(f"{self.world!r} has no episode statistics: call creatures.begin_statistics(world) first")
        return recorder

    @property
    def cost(self) -> dict[str, float]:
        """Sums over all brain instances: energies of the world, work of effects (all J), ...

        `conveyed` is the work of surfaces that move along themselves, and `surplus` the most that came from nowhere.
        """
        h = self._recorder().header[0]
        return {name: float(h[name]) for name in COST}

    def of(self, brain: BrainInstance) -> dict[str, Any]:
        """Statistics of the body of a brain instance, by name. Positions are the present ones."""
        row = self.row(brain)
        found = dict(zip(BRAIN_RECORD.names or (), row.item(), strict=True))
        for name in LAYOUT_FIELDS:
            del found[name]
        found["centre"] = found["centre"].tolist()
        recorder, own = self._recorder(), slice(int(row["effects"]), int(row["effects"] + row["effect_count"]))
        found["swing"] = recorder.windows["largest_deviation"][own][recorder.driven[own]].tolist()
        return found

    def row(self, brain: BrainInstance) -> Any:
        """The same as a BRAIN_RECORD row, which later steps change: faster than `of`."""
        if brain.world is not self.world:
            raise ValueError(f"{brain!r} is of another world: use brain.on(world)")
        brain.check_alive()
        self.world.step_recording.refresh()
        return self._recorder().records[brain.row]

    def __repr__(self) -> str:
        return f"EpisodeStatistics of {self.world!r}"


@checked_on_failure
def begin_statistics(world: World, budget: int = UNLIMITED_WORK, until_still: float = math.inf) -> EpisodeStatistics:
    """Record statistics of all brain instances of a world from now on, in every step.

    A run stops when steps have taken more work than `budget`, in rows of the solver times substeps, or when all
    figures with brains have hardly moved for `until_still` seconds.
    """
    world.step_recording.begin_recording(KIND, {"budget": int(budget), "until_still": float(until_still)})
    return EpisodeStatistics(world)
