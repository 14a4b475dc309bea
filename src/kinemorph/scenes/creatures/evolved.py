"""Creatures that have evolved, seen together: champions of generations or of runs, after Fontijne's animations (A.3).

`tools/keep_champions.py` takes them out of runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from kinemorph._files import FileError, read_bytes
from kinemorph.creatures.genotype.genotype import LARGEST_GENOTYPE_BYTES, Genotype
from kinemorph.evolve.creature_problem import Species, creatures
from kinemorph.evolve.run import held_out
from kinemorph.scenes.creatures.champions import VIEW_DIRECTION, record_awake_episode, side_by_side
from kinemorph.scenes.pictures.picture_sheets import Point, View, draw_views
from kinemorph.spatial.pose import Array
from kinemorph.view.pictures.picture import body_solids, recorded_solids
from kinemorph.view.recordings.recording import Recording

FOLDER = Path(__file__).parents[1] / "data" / "evolved"
DRAWS = 16  # on which champions are measured before they are shown
ALONE, BESIDE, BEHIND = (900, 320), (620, 200), (420, 280)  # pixels of a picture of one life, and of several


class Cast(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The champions that are shown, their task, and a held-out draw."""

    task: str
    seed: int
    champions: dict[str, Genotype]
    of_task: dict[str, Any] = {}
    draw: int = 0
    behind: bool = False  # front to back, instead of side by side
    moments: tuple[float, ...] = (0.0,)  # s, that pictures show: of a life alone in one, as under a stroboscope

    @property
    def species(self) -> Species:
        return creatures(self.of_task, self.task, "default")


def cast(name: str) -> Cast:
    """Those of an animation that are shipped with the package."""
    file = FOLDER / f"{name}.json"
    try:
        return msgspec.json.decode(read_bytes(file, 16 * LARGEST_GENOTYPE_BYTES), type=Cast)
    except msgspec.DecodeError as error:
        raise FileError(f"{file}: {error}") from None


def together(name: str) -> tuple[Recording, dict[str, float]]:
    """Their lives in one recording, and what each of them measures."""
    who = cast(name)
    on = held_out(who.seed, who.draw + 1)[who.draw]
    lives = {called: record_awake_episode(who.species, one.to_json(), on) for called, one in who.champions.items()}
    films = {called: life for called, (life, _) in lives.items()}
    recording = side_by_side(films, who.task, who.behind) if len(films) > 1 else next(iter(films.values()))
    return recording, {called: measure for called, (_, measure) in lives.items()}


def measured(species: Species, seed: int, champions: Mapping[str, Genotype], draws: int = DRAWS) -> dict[str, Array]:
    """The measures of champions on draws that no search saw; a rejected life counts as 0."""
    found = {}
    for called, one in champions.items():
        lives = [species.evaluate(one.to_json(), draw) for draw in held_out(seed, draws)]
        found[called] = np.array([0.0 if life.reason else life.measure for life in lives])
    return found


def show_evolved(out: Path, say: Callable[[Any], None], name: str) -> None:
    """Let them live: pictures, and a replay."""
    recording, measures = together(name)
    who, alone = cast(name), len(measures) == 1
    means = {called: found.mean() for called, found in measured(who.species, who.seed, who.champions).items()}
    for called, measure in measures.items():
        say(f"{called}: {measure:.3g}; in the mean of {DRAWS} draws that no search saw {means[called]:.3g}")
    low, high = _bounds_of_bodies(recording, who.moments)
    views = [
        View(times, VIEW_DIRECTION, low, high, near=True, room=1.0)
        for times in ([who.moments] if alone else who.moments)
    ]
    pictures, film = draw_views(
        recording, out, name, views, size=ALONE if alone else BEHIND if who.behind else BESIDE,
        columns=len(views) if who.behind else min(2, len(views)),
        follow="part0" if alone else None,
    )  # fmt: skip
    say(f"\nlook at [bold]{pictures}[/] and [bold]{film}[/]")


def _bounds_of_bodies(recording: Recording, moments: tuple[float, ...]) -> tuple[Point, Point]:
    """The corners of a box around all parts at some times, and around what stands where they are, such as bars."""
    bodies = [(name, solids) for t in moments for name, solids in body_solids(recording, t).items()]
    solids = [solid for name, solids in bodies if "part" in name for solid in solids]
    left, right = (end(float(end(solid.vertices[:, 0])) for solid in solids) for end in (min, max))
    still = recorded_solids(recording, 0.0)[0]
    solids += [solid for solid in still if left <= solid.vertices[:, 0].mean() <= right]
    points = np.concatenate([solid.vertices for solid in solids])
    low, high = points.min(axis=0).tolist(), points.max(axis=0).tolist()
    return (low[0], low[1], low[2]), (high[0], high[1], high[2])


hitting_ball, jumping_1, jumping_2, jumping_3 = (
    partial(show_evolved, name=name) for name in ("hitting_ball", "jumping_1", "jumping_2", "jumping_3")
)
locomotion_1, locomotion_2, locomotion_3 = (partial(show_evolved, name=f"locomotion_{k}") for k in (1, 2, 3))
brachiation = partial(show_evolved, name="brachiation")
