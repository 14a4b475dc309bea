"""World: the one thing that lives and changes. Bodies, figures and ground that touch, while their structure changes."""

from __future__ import annotations

import copy
import functools
import math
import os
import time
from collections.abc import Iterable
from functools import cached_property
from threading import get_ident
from typing import Any, Self

import numpy as np

from kinemorph._extras import in_notebooks
from kinemorph.collision.collisions import Collisions
from kinemorph.collision.collisions import first_collision_tables as first_collisions
from kinemorph.collision.shapes.shape_table import ShapeTable
from kinemorph.collision.shapes.shape_table import first_shape_tables as first_shapes
from kinemorph.contact.solver import Solver
from kinemorph.geometry.material import Material
from kinemorph.motion.events import Event
from kinemorph.motion.progress import STEP_COUNT_LIMIT, Bar
from kinemorph.multibody.model.massless import massless_joints
from kinemorph.multibody.tables import Pattern, Pointer, Tables
from kinemorph.spatial.arguments.annotated import checked_on_failure, checks_itself
from kinemorph.spatial.arguments.checks import check_finite, check_flag, check_whole, repr_of
from kinemorph.spatial.pose import vector
from kinemorph.structure.forest.forest import Edit, Forest
from kinemorph.structure.forest.layout import BODIES, IN_USE, TREES
from kinemorph.structure.forest.tables import make_first_tables as first_forest
from kinemorph.structure.support import find_massless_body
from kinemorph.world.argument_checks import a_material
from kinemorph.world.body import Body, Figure
from kinemorph.world.brains.brain_instances import BrainInstances
from kinemorph.world.brains.brains import Brains
from kinemorph.world.control.body_forces import Forces
from kinemorph.world.control.collision_filter import CollisionFilter
from kinemorph.world.control.events import Action, EventMonitor, EventMonitors
from kinemorph.world.control.joint_drives import Drives
from kinemorph.world.control.step_recorder import StepRecorder, StepRecording, recorder_of
from kinemorph.world.control.surfaces import Surfaces
from kinemorph.world.control.timers import Task, Timer, Timers
from kinemorph.world.figures import figure_of
from kinemorph.world.ids import BodyId, Id, JointId, ShapeId
from kinemorph.world.impulse.settings import NO_SETTINGS, make_settings, write_settings
from kinemorph.world.initial_overlap import tell_overlaps
from kinemorph.world.layout import WORLD, WORLD_KIND, ContactModel, Phase, Status
from kinemorph.world.part import forward, part_of
from kinemorph.world.persistence.journal import live_again
from kinemorph.world.persistence.persistence import Persistence
from kinemorph.world.persistence.random_streams import dice_of, thrown
from kinemorph.world.persistence.snapshot import SNAPSHOT, load_world, refusing
from kinemorph.world.persistence.validation import check_memory
from kinemorph.world.placement import Placement
from kinemorph.world.queries.queries import Queries
from kinemorph.world.registry import Registry
from kinemorph.world.sleep import Sleep
from kinemorph.world.step.capacity import has_capacity
from kinemorph.world.step.many_steps import run_steps
from kinemorph.world.structure_changes import StructureChanges
from kinemorph.world.threads.worker_threads import MOST_THREADS, WorkerThreads

Array = np.ndarray[Any, np.dtype[np.float64]]
CONTACT_MARGIN = 5e-4  # m, beyond what bodies may move in a step
KEEP_WITHIN = 3e-4  # m: a pair that has moved by less keeps its contact points;
KEPT_ENVELOPE_SHARE = 0.1  # and by less than this share of a collision envelope
SLOW, PATIENCE = 1e-3, 0.5  # m/s, s: pendulums at their turning points, and what begins to slide, are faster
TREMBLE = 0.05  # m/s, for what rests on impulses, which never end
LONGEST_SUBSTEP = 1.25e-3  # s
SHORTEST_STEP = 1e-9  # s, a step
PLAIN = Material(friction=0.8)
DONE, STOPPED = int(Status.DONE), int(Status.STOPPED)  # cheaper to look at
FEW, MANY = 100, 20_000  # steps that finish at once; and steps times bodies
GLANCE = 0.2  # s of computing, about, between two looks at the clock and at the keyboard


@functools.lru_cache(maxsize=64, typed=True)
def _pattern(dt: float, sleep: bool | float, substeps: int | None, sweeps: bool, width: float) -> Pattern:
    """All tables of a world with these settings in which there is nothing yet; `width` is that of an envelope."""
    if not SHORTEST_STEP <= check_finite("world: dt", dt) <= 0.1:
        raise ValueError(f"world: dt {dt} must be from {SHORTEST_STEP:g} to 0.1 s")
    if substeps is not None:
        check_whole("world: substeps", substeps, 1, 100)
    if not isinstance(sleep, bool) and not check_finite("world: sleep", sleep) > 0.0:
        raise ValueError(f"world: sleep {repr_of(sleep)} must be True, False, or a speed in m/s")
    own, forest, solver, minds = Tables(WORLD), first_forest(), Solver.first_tables(), BrainInstances.first_tables()
    shapes = first_shapes()
    pairs, boxes = first_collisions(CONTACT_MARGIN + width, min(KEEP_WITHIN, KEPT_ENVELOPE_SHARE * (width or 1.0)))
    world, s = own.header[0], solver.header[0]
    slow = (TREMBLE if width > 0.0 else SLOW) if isinstance(sleep, bool) else float(sleep)
    world["kind"], world["dt"], world["slow"], world["patience"] = WORLD_KIND, dt, slow, PATIENCE if sleep else math.inf
    n = substeps or math.ceil(dt / LONGEST_SUBSTEP - 1e-9)
    s["substeps"], s["h"] = n, dt / n
    if check_flag("world: sweeps", sweeps):
        s["direct_work"] = 0
    pointers: tuple[Pointer, ...] = (
        (own, "forest", forest, ""), (own, "collisions", pairs, ""), (own, "solver", solver, ""),
        (own, "minds", minds, ""), (pairs, "hash", boxes, ""), (pairs, "shapes", shapes, "rows"),
        (pairs, "mounts", shapes, "mounts"),
    )  # fmt: skip
    return Pattern(own, forest, solver, minds, pairs, boxes, shapes, pointers=pointers)


class WorldError(ArithmeticError):
    """A step that could not be made: `time` is when, `body` the first one that is bad. The world is as before it."""

    def __init__(self, message: str, time: float = 0.0, body: str = "") -> None:
        super().__init__(message, time, body)
        self.time, self.body = time, body

    def __str__(self) -> str:
        return str(self.args[0])


@checked_on_failure
class World:
    """Bodies that move and touch, on ground and each other, and may be joined and cut apart at any time.

    `dt` (s) is the length of a step; contacts are solved in substeps of at most 1.25 ms. What moves no faster than a
    millimetre a second for half a second falls asleep, unless `sleep` is False; a number is another speed (m/s).
    `material` is for shapes that have none of their own: friction 0.8, and no bounce. With `sweeps` no island is ever
    solved directly: that is rougher where drives pull at each other, and many times faster. Where many bodies are
    awake, so many `threads` make steps together, and come to the same bits.

    With `contact` "impulse" all contact is made of impulses, as in Fontijne's simulator: steps go in parts up to the
    next collision, which happens in an envelope of `epsilon` (m) around shapes; what rests keeps half of it open. See
    `world.impulse.settings` for `handling` and `boost`.
    """

    def __init__(
        self,
        gravity: Iterable[float] = (0.0, 0.0, -9.81),
        dt: float = 2e-3,
        *,
        sleep: bool | float = True,
        material: Material = PLAIN,
        substeps: int | None = None,
        sweeps: bool = False,
        contact: str = "timestep",
        epsilon: float | None = None,
        handling: str | None = None,
        boost: float | None = None,
        threads: int = 1,
    ) -> None:
        gravity = vector(gravity, 3, "world: gravity")
        a_material("world", material)
        model = make_settings(gravity, contact, epsilon, handling, boost)
        settings = dt, sleep, substeps, sweeps, 0.0 if model is NO_SETTINGS else float(model["epsilon"])
        try:
            pattern = _pattern(*settings)
        except TypeError:  # numbers of NumPy may have no hash
            pattern = _pattern.__wrapped__(*settings)
        own, forest, solver, minds, pairs, boxes, shapes = pattern.tables()
        self._take(
            Forest(gravity, tables=forest), Collisions.of(pairs, boxes, ShapeTable(shapes)), Solver(solver), own.header,
            own.address, material, {}, {}, {}, {}, {}, EventMonitors(), Timers(), {}, None, {}, BrainInstances(minds),
        )  # fmt: skip
        if model is not NO_SETTINGS:
            write_settings(own.header, self.solver, model)
        if type(threads) is not int or threads != 1:
            self.threads = threads

    def _hold(self, forest: Forest, collisions: Collisions, solver: Solver, header: Any, *more: Any) -> None:
        """Take all parts over, those of a copy or a snapshot, and write the addresses that they have here."""
        self._take(forest, collisions, solver, header, int(header.ctypes.data), *more)
        h = header[0]
        h["forest"], h["collisions"], h["solver"] = forest.address, collisions.lend(), solver.address
        self._lend_brains()
        if self._recorder is not None:
            self._recorder.follow(self._brain_instances)

    def _take(
        self, forest: Forest, collisions: Collisions, solver: Solver, header: Any, address: int, material: Material,
        names: dict[int, str], joints: dict[int, str], mounted: dict[int, list[int]],
        loop_exclusions: dict[int, list[tuple[int, int]]], births: dict[int, int], monitors: EventMonitors,
        timers: Timers, memory: dict[str, Any], dice: tuple[int, ...] | None, figures: dict[int, tuple[Any, ...]],
        brains: BrainInstances, recorder: Any = None,
    ) -> None:  # fmt: skip
        self.forest, self.collisions, self.shapes, self.solver = forest, collisions, collisions.shapes, solver
        self.material = material
        before: dict[str, Any] = self.__dict__  # a restore takes over what is not part of a state
        self.observers: list[Any] = before.get("observers", [])  # journals, films and viewers
        self._worker_threads: WorkerThreads | None = before.get("_worker_threads")
        self.registry: Registry = Registry(
            names, joints, mounted, loop_exclusions, births, figures, before.get("registry")
        )
        self._header: Any = header
        self._address: int = address
        self._newcomers: list[int] = []  # rows of shapes that no step has been made with
        self._in_input = False  # whether a call that journals write down is under way
        self._known = -1  # revision of the table of shapes that all tables have followed
        self._brain_instances: BrainInstances = brains
        self._recorder: StepRecorder | None = recorder_of(recorder)
        self._monitors, self._timers = monitors, timers
        self._stepping_thread = 0  # the thread that makes steps now
        monitors.join(self)
        timers.join(self)
        self.memory = memory  # numbers of controllers, by name, which are kept with the world
        self._dice = dice  # of the stream of random numbers, likewise
        self.__dict__.pop("random", None)

    # ----------------------------------------------------------------------------------------------------------- parts

    structure = part_of(StructureChanges)
    placement = part_of(Placement)
    drives = part_of(Drives)
    forces = part_of(Forces)
    surfaces = part_of(Surfaces)
    collision_filter = part_of(CollisionFilter)
    sleep = part_of(Sleep)
    brains = part_of(Brains)
    queries = part_of(Queries)
    persistence = part_of(Persistence)
    step_recording = part_of(StepRecording)

    # Everyday calls of parts.

    add = forward(StructureChanges, StructureChanges.add)
    add_ground = forward(StructureChanges, StructureChanges.add_ground)
    remove = forward(StructureChanges, StructureChanges.remove)
    connect = forward(StructureChanges, StructureChanges.connect)
    cut = forward(StructureChanges, StructureChanges.cut)
    reroot = forward(StructureChanges, StructureChanges.reroot)
    motor = forward(Drives, Drives.motor)
    servo = forward(Drives, Drives.servo)
    apply_force = forward(Forces, Forces.apply_force)
    apply_impulse = forward(Forces, Forces.apply_impulse)
    contacts = forward(Queries, Queries.contacts)
    states = forward(Queries, Queries.states)
    save = forward(Persistence, Persistence.save)
    restore = forward(Persistence, Persistence.restore)
    branch = forward(Persistence, Persistence.branch)
    record = forward(Persistence, Persistence.record)
    hash = forward(Persistence, Persistence.hash)

    @property
    def gravity(self) -> Array:
        """m/s², world axes. It can be set at any time, and then acts from the next step on; everything wakes."""
        return self.forest.gravity

    @gravity.setter
    def gravity(self, value: Iterable[float]) -> None:
        self.forces._set_gravity(vector(value, 3, "world: gravity"))

    @cached_property
    def random(self) -> np.random.Generator:
        """A stream of random numbers that is kept with the world."""
        return thrown(self._dice)

    # ------------------------------------------------------------------------------------------------------------ time

    @property
    def time(self) -> float:
        """s, since it was made."""
        return float(self._header[0]["time"])

    @property
    def step_count(self) -> int:
        """Steps since it was made."""
        return int(self._header[0]["steps"])

    @property
    def is_stepping(self) -> bool:
        """Whether steps are being made now: what asks is an action, a controller, or another thread."""
        return bool(self._stepping_thread)

    @property
    def dt(self) -> float:
        """s, length of a step."""
        return float(self._header[0]["dt"])

    def run(self, seconds: float) -> None:
        """Go on for so long, in whole steps, or until an event that ends. Long runs show how far they are."""
        check_finite("world: run: seconds", seconds, 0.0, STEP_COUNT_LIMIT * self.dt)
        self.step(round(seconds / self.dt))

    @checks_itself
    def step(self, count: int = 1) -> None:
        """Make so many steps. One that cannot be made raises `WorldError`, and the world stays where it was."""
        if type(count) is not int or not 0 <= count <= STEP_COUNT_LIMIT:
            count = check_whole("world: step: count", count, 0, STEP_COUNT_LIMIT)
        if self._stepping_thread:
            self._check_thread()
            raise RuntimeError("world: a step cannot be made by what is called in between steps")
        self._stepping_thread = get_ident()
        try:
            # most calls should cost little
            if not (self._monitors._monitors or self._timers._timers or self.observers):
                if self._known != self.shapes.revision:
                    self._follow_shapes()
                most = count if count <= FEW else self._few
                if self._newcomers or self._worker_threads is not None or self._recorder is not None:
                    status, count = self._run_steps(count, most)
                else:
                    status, count = run_steps(self._address, count, most)
                if status == STOPPED or (status == DONE and count == 0):
                    return
            with Bar(self.time, self.time + count * self.dt) as bar:
                self._go_on(count, bar)
        finally:
            self._stepping_thread = 0

    def _check_thread(self) -> None:
        """Refuse what another thread asks for while steps are made: kernels change all tables meanwhile."""
        if self._stepping_thread and self._stepping_thread != get_ident():
            raise RuntimeError("world: another thread makes steps with it now; wait for that, or give it a branch()")

    @property
    def _few(self) -> int:
        """Steps that finish at once, with all bodies of now."""
        return max(FEW, MANY // (1 + int(self.forest._pools[BODIES]["used"])))

    def _go_on(self, left: int, bar: Bar) -> None:
        glance = 16 if self._few == FEW else self._few  # steps, as many as take a moment
        self._monitors.refuse_orphans()
        self._timers.refuse_orphans()
        self._brain_instances.header["has_listeners"] = bool(self.observers or self._monitors)
        while left > 0:
            self._timers.call()
            self._follow_shapes()
            now = int(self._header[0]["steps"])
            due = 1 if self._monitors.calls else self._timers.steps_until_due(min(left, glance))
            due = min([due, *(observer.due(now) - now for observer in self.observers)])
            start = time.perf_counter()
            status, undone = self._run_steps(due, due)
            if due == glance and time.perf_counter() - start < 0.5 * GLANCE:
                glance *= 2
            left -= due - undone
            for observer in self.observers:
                if undone < due and observer.due(now) == now + due - undone:
                    observer.look()
            if status == Status.FULL_SOLVER:
                self.solver.grow()
            elif status == Status.FULL_FOREST:
                self.forest._grow()
            elif status == Status.FULL_COLLISIONS:
                self.collisions.grow()
                self._follow_tables()
            elif status == Status.CHANGED:
                self.brains._follow_grasps()
            elif status == Status.STOPPED:
                return
            elif status not in (Status.DONE, Status.EVENT):
                self._complain(Status(status))
            elif (status == Status.EVENT or self._monitors.calls) and self._monitors.happen():
                return
            bar.show(self.time)

    def _run_steps(self, count: int, most: int) -> tuple[int, int]:
        if self._newcomers:
            if self._recorder is not None and self._recorder.measures_overlap:
                self._newcomers = []
            elif count > 0:  # what they overlap is known after a step of theirs
                status, count = self._make_steps(count, 1)
                if status in (Status.DONE, Status.EVENT, Status.STOPPED):
                    newcomers, self._newcomers = self._newcomers, []
                    tell_overlaps(self, newcomers)
                if status != DONE or count == 0:
                    return status, count
        if self._worker_threads is not None and self._worker_threads.is_worth_it(self):
            return self._worker_threads.run(self, count, most)
        return self._make_steps(count, most)

    def _make_steps(self, count: int, most: int) -> tuple[int, int]:
        """`run_steps`, by the recorder if there is one."""
        run = run_steps if self._recorder is None else self._recorder.run_steps
        status, left = run(self._address, count, most)
        return status, left

    @property
    def threads(self) -> int:
        """How many threads make steps, where many trees are awake. The world goes the same way by any number of them,
        and no copy but a `branch` has more than one."""
        return 1 if self._worker_threads is None else self._worker_threads.threads

    @threads.setter
    def threads(self, count: int) -> None:
        check_whole("world: threads", count, 1, MOST_THREADS)
        most = int(self.collisions.header["max_contacts"][0])
        self._worker_threads = None if count == 1 else WorkerThreads(int(count), most)

    def _follow_shapes(self) -> None:
        if self._known != self.shapes.revision:
            self.collisions.lend()
            self._follow_tables()
            self._known = self.shapes.revision

    def _failure(self, what: str, why: object) -> WorldError:
        """The error for a function of the user's that has failed between two steps."""
        text = (
            f"world: {what} at {self.time:.6g} s: {why}; the world is as the last step and what was done since left it"
        )
        return WorldError(text, self.time)

    # ------------------------------------------------------------------------------------------ events and controllers

    def clear_callbacks(self) -> None:
        """Call no controller and wait for no event any more."""
        monitors, timers = self._monitors, self._timers
        self._monitors, self._timers = EventMonitors(), Timers()
        self._monitors.adopt(monitors)
        self._timers.adopt(timers)
        self._monitors.join(self)
        self._timers.join(self)
        self._header["event_count"] = 0

    def when(self, event: Event, action: Action | None = None) -> EventMonitor:
        """Wait for an event: at the end of the step in which it happens, call action(world, moment).

        The action may do anything but make steps. What events there are, `km.Event` says: two bodies touch or part, a
        joint reaches a limit, a point a height, a body falls asleep, ...
        """
        return self._monitors.add(event, action)

    @property
    def monitors(self) -> list[EventMonitor]:
        """All events that are waited for, in the order of `when`."""
        return [monitor for monitor in self._monitors if not monitor.cancelled]

    def every(self, period: float, action: Task, name: str = "", start: float | None = None) -> Timer:
        """Call action(world) every `period` seconds, between steps, from now or from `start` on: a controller."""
        return self._timers.add(action, period, name, start)

    def _complain(self, status: Status) -> None:
        if status == Status.OVERLAP:
            names = " and ".join(repr(self._shape_owner(int(self._header[0][side]))) for side in "ab")
            why = "move them apart, for in the contact model 'impulse' bodies must come apart from each other"
            raise WorldError(f"world: at {self.time:.6g} s {names} overlap; {why}", self.time)
        t = int(self._header[0]["tree"])
        there = t >= 0 and self.forest._tables[TREES]["next"][t] == IN_USE  # it may be of an earlier step
        first = int(self.forest._links(t)[0]["body"]) if there else -1
        if status == Status.BAD_BOX:
            links = [int(self.shapes.rows["link"][row]) for row in self.collisions.endless()]
            first = next((link for link in links if link >= 0), -1)
        body = why = ""
        if first >= 0:
            id = self.forest._id(BODIES, first)
            body, why = self.registry.body_names.get(id, ""), self._massless(id)
        what = f"the tree of body {body!r}" if body else "something"
        model = ContactModel(int(self._header[0]["model"]))
        left = "as it was before that step" if model is ContactModel.STEPS else "as the last part of a step left it"
        what = f"the motion of {what} is not finite any more ({status.name.lower()})"
        raise WorldError(f"world: at {self.time:.6g} s {what}; {why}the world is {left}", self.time, body)

    def _massless(self, body: int) -> str:
        """What is to be said if a joint of the figure that a body came in with moves no mass, or one of its tree."""
        for key, record in self.registry.figure_records.items():
            if key in self.registry.models and any(body == id for _, id, _ in record.bodies):
                for joint in massless_joints(self.registry.models[key])[:1]:
                    return f"joint {joint!r} moves no mass: give its link an inertia, or the joint an armature; "
        light = find_massless_body(self.forest, self.forest.tree_of(body))
        if light < 0:
            return ""
        return f"body {self.registry.body_names[light]!r} and what it carries have no mass: remove it; "

    def _shape_owner(self, row: int) -> str:
        """The name of the body that has the shape in a row."""
        link = int(self.shapes.rows[row]["link"])
        return "ground" if link < 0 else self.registry.body_names[self.forest._id(BODIES, link)]

    def _follow_tables(self) -> None:
        self.collisions.expect()
        if not has_capacity(self._address, self.shapes.count):
            trees, _, joints, loops = self.forest._pools["count"].tolist()
            contacts = int(self.collisions.header["contact_room"][0])
            self.solver.follow(trees, self.shapes.count, contacts, joints, loops)

    # ------------------------------------------------------------------------------------------------- what there is

    def _id(self, body: Body | int) -> int:
        self._check_thread()
        if isinstance(body, Body):
            if body.world is not self:
                raise ValueError(f"{body!r} is of another world; here it is world[name], or world.body(id)")
            if self.registry.births.get(body.id) != body.birth:
                raise KeyError(f"world: there is no body {body.name!r} (any more)")
            return int(body.id)
        if isinstance(body, Id):
            body.check(self, BodyId)
        if not isinstance(body, int | np.integer) or isinstance(body, bool):
            raise TypeError(
                f"world: a body is a kinemorph.Body or its id, not {repr_of(body)}; by its name it is world[name], and "
                "that of a figure figure[name]"
            )
        if int(body) not in self.registry.body_names:
            raise KeyError(f"world: there is no body {body} (any more)")
        return int(body)

    @property
    def bodies(self) -> list[Body]:
        """All bodies."""
        return [Body(self, id, self.registry.body_names[id]) for id in self.forest.bodies.tolist()]

    def body(self, id: int) -> Body:
        """The body of an id."""
        number = self._id(id)
        return Body(self, number, self.registry.body_names[number])

    @property
    def figures(self) -> list[Figure]:
        """All that came in as a model and is not wholly gone, in the order in which they came."""
        return [
            figure_of(self, one, self.registry.models.get(key)) for key, one in self.registry.figure_records.items()
        ]

    def figure(self, name: str) -> Figure:
        """The figure of a name, also in a world that was loaded, restored or branched."""
        key = self._only({key: one.name for key, one in self.registry.figure_records.items()}, name, "figure")
        return figure_of(self, self.registry.figure_records[key], self.registry.models.get(key))

    def __contains__(self, name: str) -> bool:
        return isinstance(name, str) and name in self.registry.body_names.values()

    def __getitem__(self, name: str) -> Body:
        """The body of a name; the figure of a model has those of its own."""
        return self.body(self._only(self.registry.body_names, name, "body"))

    __iter__ = None  # else Python would look for bodies named 0, 1, ...: `bodies` has them all

    def _only(self, names: dict[int, str], name: str, what: str) -> int:
        found = [id for id, other in names.items() if isinstance(name, str) and other == name]
        if len(found) != 1:
            instead = "see world.figures" if what == "figure" else f"ask the figure, or give the {what} itself"
            many = f" alone, but {len(found)} of them: {instead}" if found else ""
            raise KeyError(f"world: there is no {what} {repr_of(name)}{many}")
        return found[0]

    def joint_id(self, joint: Edit | int | str) -> int:
        """The id of a joint: by its name, if that is unique, or of a `Edit` that made it."""
        if isinstance(joint, str):
            names = {id: name for id, name in self.registry.joint_names.items() if self.forest.has_joint(id)}
            return self._only(names, joint, "joint")
        id = joint.joint if isinstance(joint, Edit) else joint
        if isinstance(id, Id):
            id.check(self, JointId)
        if not isinstance(id, int | np.integer) or isinstance(id, bool):
            raise TypeError(f"world: a joint is what `connect` returned, its id or its name, not {repr_of(id)}")
        if not self.forest.has_joint(int(id)):
            raise KeyError(f"world: there is no joint {id} (any more)")
        return int(id)

    def _shape_row(self, shape: int) -> int:
        """The row of a shape of this world, by its id."""
        if isinstance(shape, Id):
            shape.check(self, ShapeId)
        return self.shapes.row_of(shape)

    def _body_at(self, index: int) -> Body | None:
        return None if index < 0 else self.body(self.forest._id(BODIES, index))

    # ---------------------------------------------------------------------------------------------------------- copies

    def __copy__(self) -> Self:
        return copy.deepcopy(self)

    def _lend_brains(self) -> None:
        h = self._header[0]
        h["minds"], h["mind_count"] = self._brain_instances.address, self._brain_instances.count

    @classmethod
    def load(cls, data: bytes) -> Self:
        """The world of a snapshot. Bytes that are damaged, of another version or of anything else are a `FileError`.

        A snapshot has no functions: give each controller and each action its own again, by `every` and `when` with the
        same name, before the first step. They go on where they were.
        """
        world, _ = cls._of_snapshot(data)
        return world

    @classmethod
    def _of_snapshot(cls, data: bytes) -> tuple[Self, tuple[Any, ...]]:
        """The world of a snapshot, and the parts that it is made of: whatever can fail has not."""
        state, world = load_world(data), cls.__new__(cls)
        with refusing(SNAPSHOT):
            world._hold(*state)
            world.__getstate__()  # all tables follow each other
        return world, state

    @classmethod
    def rerun(cls, path: str | os.PathLike[str], most_steps: int = 10_000_000) -> Self:
        """The world of a journal, made again from its inputs.

        If it does not come to the same, `DivergenceError` names the first step and body that differ. A journal with
        more than `most_steps` steps is refused before the first of them: a few bytes can ask for very many.
        """
        again: Self = live_again(path, cls.load, most_steps)
        return again

    def __getstate__(self) -> tuple[Any, ...]:
        self._check_thread()
        if self._header[0]["phase"] != Phase.MOVE:
            raise RuntimeError("this world is in the middle of a step and cannot be copied now")
        check_memory(self.memory)
        self.collisions.lend()
        self._follow_tables()
        if self._recorder is not None:
            self._recorder.refresh(self._address)
        header, known = self._header.copy(), self.registry
        for name in ("forest", "collisions", "solver", "events", "event_count", "minds", "mind_count"):
            header[name] = 0
        header["crew"] = header["clock"] = header["ticks"] = 0
        return (
            self.forest, self.collisions, self.solver, header, self.material, known.body_names, known.joint_names,
            known.mounted, known.loop_exclusions, known.births, self._monitors, self._timers, self.memory,
            dice_of(self.random), known.plain_figures(), self._brain_instances,
            None if self._recorder is None else (self._recorder.kind, self._recorder.state()),
        )  # fmt: skip

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        if state[3].dtype != WORLD:
            raise ValueError("a world that another version of kinemorph has pickled cannot be read")
        self._hold(*state)

    _repr_html_ = in_notebooks("world")

    def __repr__(self) -> str:
        return f"World at {self.time:.6g} s: {len(self.forest.bodies)} bodies, {len(self.shapes)} shapes"
