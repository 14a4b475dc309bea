"""Step recorders: the one hook by which code outside of the engine reads each step of a world, and may end its run.

    accelerations, poses of shapes ──► the recorder ──► brains ──► collisions, impulses, new state

A recorder has a kernel that makes the steps, one by one: `make_steps(world, 1, 1, True)` returns PAUSED when link data
is that of the start of the step; the kernel reads the world, and calls again. To end a run it returns STOPPED after a
step. The engine does not know what is recorded: copies and snapshots have the recorder's kind, and numbers and arrays.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib import import_module
from threading import get_ident
from typing import Any, ClassVar, Self, TypeVar

from kinemorph._extras import RECORDER_MODULES
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.world.brains.brain_instances import BrainInstances
from kinemorph.world.layout import ContactModel
from kinemorph.world.part import Part
from kinemorph.world.persistence.journal import an_input

Result = TypeVar("Result")


class StepRecorder(ABC):
    """Reads each step of a world. Snapshots and journals name its class by the `kind`."""

    kinds: ClassVar[dict[str, type[StepRecorder]]] = {}
    kind: ClassVar[str]
    measures_overlap: ClassVar[bool] = False  # whether it records overlaps, so that no warning of them is needed

    def __init_subclass__(cls, kind: str, **more: Any) -> None:
        super().__init_subclass__(**more)
        cls.kind = kind
        StepRecorder.kinds[kind] = cls

    @classmethod
    @abstractmethod
    def begin(cls, dt: float, settings: dict[str, Any]) -> Self:
        """A new recorder, for steps of `dt` seconds. A bad setting is a ValueError."""

    @classmethod
    @abstractmethod
    def of_state(cls, state: Any) -> Self:
        """The recorder of a `state()`, in memory of its own. The state may come from a file: check all of it."""

    @abstractmethod
    def state(self) -> Any:
        """All its data, as numbers, texts, tuples and arrays of numbers, without addresses."""

    @abstractmethod
    def follow(self, brains: BrainInstances) -> None:
        """Fit its tables to the brains of the world: the recorder is new, or a brain was attached."""

    @abstractmethod
    def run_steps(self, address: int, count: int, most: int) -> tuple[int, int]:
        """`many_steps.run_steps` of the world at an address, recorded."""

    def refresh(self, address: int) -> None:  # noqa: B027
        """Update what it says of the present state, before that is read, saved or compared."""


def recorder_class(kind: str) -> type[StepRecorder]:
    """The class of a kind; one that comes with the package is imported when it is first named."""
    if kind not in StepRecorder.kinds and kind in RECORDER_MODULES:
        import_module(RECORDER_MODULES[kind])
    if kind not in StepRecorder.kinds:
        raise ValueError(f"there is no step recorder {kind!r:.60}: import the module that defines it first")
    return StepRecorder.kinds[kind]


def recorder_of(state: Any) -> StepRecorder | None:
    """The recorder of a world's state: None, or its kind and its own state."""
    if state is None:
        return None
    if not (isinstance(state, tuple) and len(state) == 2 and isinstance(state[0], str)):
        raise ValueError("a world has a recorder without a kind")
    return recorder_class(state[0]).of_state(state[1])


@checked_on_failure
class StepRecording(Part):
    """`world.step_recording`: the recorder of the steps of a world, if it has one."""

    __slots__ = ()

    @an_input
    def begin_recording(self, kind: str, settings: dict[str, Any]) -> None:
        """Record from the next step on, by a new recorder of a kind in place of the present one."""
        recorder = recorder_class(kind).begin(self.world.dt, settings)
        recorder.follow(self.world._brain_instances)
        self.world._recorder = recorder
        self.refresh()

    @an_input
    def end_recording(self) -> None:
        """Remove the recorder."""
        self.world._recorder = None

    @property
    def recorder(self) -> StepRecorder | None:
        """The recorder, or None."""
        return self.world._recorder

    def refresh(self) -> None:
        """Update what the recorder says of the present state."""
        world = self.world
        if world._recorder is not None:
            world._follow_shapes()
            world._recorder.refresh(world._address)

    @property
    def fits_one_call(self) -> bool:
        """Whether many steps may be made in one kernel call: nothing in Python has to be called in between."""
        world = self.world
        others = world._monitors._monitors or world._timers._timers or world.observers
        if others or world._worker_threads is not None or world._stepping_thread:
            return False
        h = world._header[0]
        return bool(h["patience"] == math.inf and h["model"] == ContactModel.STEPS)

    def call(self, run: Callable[..., Result], steps: bool, *arguments: Any) -> Result:
        """run(address of the world, *arguments), a kernel; it may make steps if `steps`, where `fits_one_call`."""
        world = self.world
        if not steps:
            return run(world._address, *arguments)
        if not self.fits_one_call:
            raise RuntimeError("step_recording: call: steps are made by world.step here; see fits_one_call")
        world._follow_shapes()
        world._newcomers = []
        world._stepping_thread = get_ident()
        try:
            return run(world._address, *arguments)
        finally:
            world._stepping_thread = 0
