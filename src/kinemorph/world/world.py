"""World: the one thing that lives and changes. Bodies, figures and ground that touch, while their structure changes."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from threading import get_ident
from typing import Any

import numpy as np

from kinemorph._extras import in_notebooks
from kinemorph.collision.collisions import Collisions
from kinemorph.collision.collisions import first_tables as first_collisions
from kinemorph.collision.shapes.shape_table import ShapeTable
from kinemorph.collision.shapes.shape_table import first_tables as first_shapes
from kinemorph.contact.layout import BY_CALL, BY_EDIT, BY_FORCE, BY_LOST, BY_PLACE
from kinemorph.contact.solver import Solver
from kinemorph.geometry.material import Material
from kinemorph.motion.events import Event
from kinemorph.motion.progress import STEP_COUNT_LIMIT, Bar
from kinemorph.multibody.model.massless import massless_joints
from kinemorph.multibody.tables import Pattern, Pointer, Tables
from kinemorph.spatial.arguments.annotated import checked_on_failure, checks_itself
from kinemorph.spatial.arguments.checks import finite, flag, shown, whole
from kinemorph.spatial.pose import vector
from kinemorph.structure.forest.forest import Change, Forest
from kinemorph.structure.forest.layout import BODIES, IN_USE, LOOPS, TREES
from kinemorph.structure.forest.memory import INDEX
from kinemorph.structure.forest.tables import first_tables as first_forest
from kinemorph.structure.support import without_mass
from kinemorph.world.argument_checks import a_material
from kinemorph.world.body import Body, Figure
from kinemorph.world.brains.brain_instances import Minds
from kinemorph.world.brains.episode_statistics import see_lives
from kinemorph.world.control.events import Action, Watch, Watches
from kinemorph.world.control.timers import Task, Timer, Timers
from kinemorph.world.figures import Record, figure_of
from kinemorph.world.ids import BodyId, Id, JointId
from kinemorph.world.impulse.settings import NONE, impulses, settle_model
from kinemorph.world.initial_overlap import tell_overlaps
from kinemorph.world.layout import WORLD, WORLD_KIND, ContactModel, Phase, Status
from kinemorph.world.persistence.journal import an_input
from kinemorph.world.persistence.random_streams import dice_of, thrown
from kinemorph.world.persistence.validation import check_memory
from kinemorph.world.persistence.world_persistence import Keeping
from kinemorph.world.placement import Placing
from kinemorph.world.queries.world_queries import Asking
from kinemorph.world.step.capacity import has_all_rooms
from kinemorph.world.step.run import run_steps
from kinemorph.world.structure_changes import Changing
from kinemorph.world.threads.worker_threads import MOST_THREADS, Crew

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
FEW, MANY = 100, 20_000  # steps that nobody waits for; and so many, of all bodies together
GLANCE = 0.2  # s of computing, about, between two looks at the clock and at the keyboard
WHY = {
    BY_EDIT: "the structure changed",
    BY_CALL: "it was asked to wake",
    BY_FORCE: "what acts on it was changed",
    BY_PLACE: "something was put elsewhere, or set in motion",
    BY_LOST: "something that is gone touched it",
}


@functools.lru_cache(maxsize=64, typed=True)
def _pattern(dt: float, sleep: bool | float, substeps: int | None, sweeps: bool, width: float) -> Pattern:
    """All tables of a world with these settings in which there is nothing yet; `width` is that of an envelope."""
    if not SHORTEST_STEP <= finite("world: dt", dt) <= 0.1:
        raise ValueError(f"world: dt {dt} must be from {SHORTEST_STEP:g} to 0.1 s")
    if substeps is not None:
        whole("world: substeps", substeps, 1, 100)
    if not isinstance(sleep, bool) and not finite("world: sleep", sleep) > 0.0:
        raise ValueError(f"world: sleep {shown(sleep)} must be True, False, or a speed in m/s")
    own, forest, solver, minds = Tables(WORLD), first_forest(), Solver.first_tables(), Minds.first_tables()
    shapes = first_shapes()
    pairs, boxes = first_collisions(CONTACT_MARGIN + width, min(KEEP_WITHIN, KEPT_ENVELOPE_SHARE * (width or 1.0)))
    world, s = own.header[0], solver.header[0]
    slow = (TREMBLE if width > 0.0 else SLOW) if isinstance(sleep, bool) else float(sleep)
    world["kind"], world["dt"], world["slow"], world["patience"] = WORLD_KIND, dt, slow, PATIENCE if sleep else math.inf
    n = substeps or math.ceil(dt / LONGEST_SUBSTEP - 1e-9)
    s["substeps"], s["h"] = n, dt / n
    if flag("world: sweeps", sweeps):
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
class World(Changing, Placing, Asking, Keeping):
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
        model = impulses(gravity, contact, epsilon, handling, boost)
        settings = dt, sleep, substeps, sweeps, 0.0 if model is NONE else float(model["epsilon"])
        try:
            pattern = _pattern(*settings)
        except TypeError:  # what has no hash may still be a number
            pattern = _pattern.__wrapped__(*settings)
        own, forest, solver, minds, pairs, boxes, shapes = pattern.tables()
        self._take(
            Forest(gravity, tables=forest), Collisions.of(pairs, boxes, ShapeTable(shapes)), Solver(solver), own.header,
            own.address, material, {}, {}, {}, {}, {}, Watches(), Timers(), {}, None, {}, Minds(minds),
        )  # fmt: skip
        if model is not NONE:
            settle_model(own.header, self.solver, model)
        if type(threads) is not int or threads != 1:
            self.threads = threads

    def _hold(self, forest: Forest, collisions: Collisions, solver: Solver, header: Any, *more: Any) -> None:
        """Take all parts over, those of a copy or a snapshot, and write the addresses that they have here."""
        self._take(forest, collisions, solver, header, int(header.ctypes.data), *more)
        h = header[0]
        h["forest"], h["collisions"], h["solver"] = forest.address, collisions.lend(), solver.address
        self._lend_minds()

    def _take(
        self, forest: Forest, collisions: Collisions, solver: Solver, header: Any, address: int, material: Material,
        names: dict[int, str], joints: dict[int, str], mounted: dict[int, list[int]],
        parted: dict[int, list[tuple[int, int]]], births: dict[int, int], watches: Watches, timers: Timers,
        memory: dict[str, Any], dice: tuple[int, ...] | None, figures: dict[int, tuple[Any, ...]], minds: Minds,
    ) -> None:  # fmt: skip
        self.forest, self.collisions, self.shapes, self.solver = forest, collisions, collisions.shapes, solver
        self.material = material
        self._names, self._joints = names, joints  # of bodies and joints, by id
        self._mounted = mounted  # shapes, by the index of their body
        self._parted = parted  # pairs of shapes that do not meet, by the joint of the loop that ties their bodies
        self._births = births  # of each body a number that no other one has had, by id: handles know theirs
        self._born = max(getattr(self, "_born", 0), *births.values()) if births else getattr(self, "_born", 0)
        self._figures = {key: Record(*figures[key]) for key in figures}  # by the birth of the first body of each
        self._models = getattr(self, "_models", {})  # of figures that came in here, likewise
        self._header = header
        self._address = address
        self._onlookers = getattr(self, "_onlookers", [])
        self._crew: Crew | None = getattr(self, "_crew", None)
        self._newcomers: list[int] = []  # rows of shapes that no step has been made with
        self._within = False  # an input, so that what it calls is none of its own
        self._known = -1  # revision of the table of shapes that all tables have followed
        self._minds = minds
        self._watches, self._timers, self._moving = watches, timers, 0  # or the thread that makes steps
        watches.join(self)
        timers.join(self)
        self.memory = memory  # numbers of controllers, by name, which are kept with the world
        self._dice = dice  # of the stream of random numbers, likewise
        self.__dict__.pop("random", None)

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
    def dt(self) -> float:
        """s, length of a step."""
        return float(self._header[0]["dt"])

    def run(self, seconds: float) -> None:
        """Go on for so long, in whole steps, or until an event that ends. Long runs show how far they are."""
        finite("world: run: seconds", seconds, 0.0, STEP_COUNT_LIMIT * self.dt)
        self.step(round(seconds / self.dt))

    @checks_itself
    def step(self, count: int = 1) -> None:
        """Make so many steps. One that cannot be made raises `WorldError`, and the world stays where it was."""
        if type(count) is not int or not 0 <= count <= STEP_COUNT_LIMIT:
            count = whole("world: step: count", count, 0, STEP_COUNT_LIMIT)
        if self._moving:
            self._alone()
            raise RuntimeError("world: a step cannot be made by what is called in between steps")
        self._moving = get_ident()
        try:
            if not (self._watches._watches or self._timers._timers or self._onlookers):  # most calls should cost little
                if self._known != self.shapes.revision:
                    self._follow_shapes()
                most = count if count <= FEW else self._few
                if self._newcomers or self._crew is not None:
                    status, count = self._run_steps(count, most)
                else:
                    status, count = run_steps(self._address, count, most)
                if status == STOPPED or (status == DONE and count == 0):
                    return
            with Bar(self.time, self.time + count * self.dt) as bar:
                self._go_on(count, bar)
        finally:
            self._moving = 0

    def _alone(self) -> None:
        """Refuse what another thread asks for while steps are made: kernels change all tables meanwhile."""
        if self._moving and self._moving != get_ident():
            raise RuntimeError("world: another thread makes steps with it now; wait for that, or give it a branch()")

    @property
    def _few(self) -> int:
        """Steps that nobody waits for, of all that is here."""
        return max(FEW, MANY // (1 + int(self.forest._pools[BODIES]["used"])))

    def _go_on(self, left: int, bar: Bar) -> None:
        glance = 16 if self._few == FEW else self._few  # steps, as many as take a moment
        self._watches.refuse_orphans()
        self._timers.refuse_orphans()
        self._minds.header["heeded"] = bool(self._onlookers or self._watches)
        while left > 0:
            self._timers.call()
            self._follow_shapes()
            now = int(self._header[0]["steps"])
            due = 1 if self._watches.calls else self._timers.steps_until_due(min(left, glance))
            due = min([due, *(onlooker.due(now) - now for onlooker in self._onlookers)])
            start = time.perf_counter()
            status, undone = self._run_steps(due, due)
            if due == glance and time.perf_counter() - start < 0.5 * GLANCE:
                glance *= 2
            left -= due - undone
            for onlooker in self._onlookers:
                if undone < due and onlooker.due(now) == now + due - undone:
                    onlooker.look()
            if status == Status.FULL_SOLVER:
                self.solver.grow()
            elif status == Status.FULL_FOREST:
                self.forest._grow()
            elif status == Status.FULL_COLLISIONS:
                self.collisions.grow()
                self._follow_tables()
            elif status == Status.CHANGED:
                self._follow_grasps()
            elif status == Status.STOPPED:
                return
            elif status not in (Status.DONE, Status.EVENT):
                self._complain(Status(status))
            elif (status == Status.EVENT or self._watches.calls) and self._watches.happen():
                return
            bar.show(self.time)

    def _run_steps(self, count: int, most: int) -> tuple[int, int]:
        if self._newcomers:
            if self._minds.header[0]["watched"]:  # then `life["depth"]` says it
                self._newcomers = []
            elif count > 0:  # what they overlap is known after a step of theirs
                status, count = run_steps(self._address, count, 1)
                if status in (Status.DONE, Status.EVENT, Status.STOPPED):
                    newcomers, self._newcomers = self._newcomers, []
                    tell_overlaps(self, newcomers)
                if status != DONE or count == 0:
                    return status, count
        if self._crew is not None and self._crew.is_worth_it(self):
            return self._crew.run(self, count, most)
        return run_steps(self._address, count, most)

    @property
    def threads(self) -> int:
        """How many threads make steps, where many trees are awake. The world goes the same way by any number of them,
        and no copy but a `branch` has more than one."""
        return 1 if self._crew is None else self._crew.threads

    @threads.setter
    def threads(self, count: int) -> None:
        whole("world: threads", count, 1, MOST_THREADS)
        most = int(self.collisions.header["most"][0])
        self._crew = None if count == 1 else Crew(int(count), most)

    def _follow_shapes(self) -> None:
        if self._known != self.shapes.revision:
            self.collisions.lend()
            self._follow_tables()
            self._known = self.shapes.revision

    def failure(self, what: str, why: object) -> WorldError:
        """The error for a function of the user's that has failed between two steps."""
        text = (
            f"world: {what} at {self.time:.6g} s: {why}; the world is as the last step and what was done since left it"
        )
        return WorldError(text, self.time)

    # ------------------------------------------------------------------------------------------ events and controllers

    def forget(self) -> None:
        """Call no controller and wait for no event any more."""
        watches, timers = self._watches, self._timers
        self._watches, self._timers = Watches(), Timers()
        self._watches.adopt(watches)
        self._timers.adopt(timers)
        self._watches.join(self)
        self._timers.join(self)
        self._header["event_count"] = 0

    def when(self, event: Event, action: Action | None = None) -> Watch:
        """Wait for an event: at the end of the step in which it happens, call action(world, moment).

        The action may do anything but make steps. What events there are, `km.Event` says: two bodies touch or part, a
        joint reaches a limit, a point a height, a body falls asleep, ...
        """
        return self._watches.add(event, action)

    @property
    def watches(self) -> list[Watch]:
        """All events that are waited for, in the order of `when`."""
        return [watch for watch in self._watches if not watch.cancelled]

    def every(self, period: float, action: Task, name: str = "", start: float | None = None) -> Timer:
        """Call action(world) every `period` seconds, between steps, from now or from `start` on: a controller."""
        return self._timers.add(action, period, name, start)

    def _complain(self, status: Status) -> None:
        if status == Status.OVERLAP:
            names = " and ".join(repr(self._shape_owner(int(self._header[0][side]))) for side in "ab")
            raise WorldError(
                f"world: at {self.time:.6g} s {names} overlap; move them apart, for in the contact model 'impulse' "
                "bodies must come apart from each other",
                self.time,
            )
        t = int(self._header[0]["tree"])
        there = t >= 0 and self.forest._tables[TREES]["next"][t] == IN_USE  # it may be of an earlier step
        first = int(self.forest._links(t)[0]["body"]) if there else -1
        if status == Status.BAD_BOX:
            links = [int(self.shapes.rows["link"][row]) for row in self.collisions.endless()]
            first = next((link for link in links if link >= 0), -1)
        body = why = ""
        if first >= 0:
            id = self.forest._id(BODIES, first)
            body, why = self._names.get(id, ""), self._massless(id)
        what = f"the tree of body {body!r}" if body else "something"
        model = ContactModel(int(self._header[0]["model"]))
        left = "as it was before that step" if model is ContactModel.STEPS else "as the last part of a step left it"
        raise WorldError(
            f"world: at {self.time:.6g} s the motion of {what} is not finite any more ({status.name.lower()}); "
            f"{why}the world is {left}",
            self.time,
            body,
        )

    def _massless(self, body: int) -> str:
        """What is to be said if a joint of the figure that a body came in with moves no mass, or one of its tree."""
        for key, record in self._figures.items():
            if key in self._models and any(body == id for _, id, _ in record.bodies):
                for joint in massless_joints(self._models[key])[:1]:
                    return f"joint {joint!r} moves no mass: give its link an inertia, or the joint an armature; "
        light = without_mass(self.forest, self.forest.tree_of(body))
        return f"body {self._names[light]!r} and what it carries have no mass: remove it; " if light >= 0 else ""

    def _shape_owner(self, row: int) -> str:
        """The name of the body that has the shape in a row."""
        link = int(self.shapes.rows[row]["link"])
        return "ground" if link < 0 else self._names[self.forest._id(BODIES, link)]

    def _follow_tables(self) -> None:
        self.collisions.expect()
        if not has_all_rooms(self._address, self.shapes.count):
            trees, _, joints, loops = self.forest._pools["count"].tolist()
            contacts = int(self.collisions.header["contact_room"][0])
            self.solver.follow(trees, self.shapes.count, contacts, joints, loops)

    # ----------------------------------------------------------------------------------------------------------- sleep

    @an_input
    def wake(self, body: Body | int) -> None:
        """Wake a body, and all that touches it."""
        self._wake(self._id(body), why=BY_CALL)

    def _wake(self, *bodies: int, why: int = BY_EDIT) -> None:
        for body in bodies:
            self._wake_tree(self.forest.tree_of(body) & INDEX, why)

    def _wake_tree(self, tree: int, why: int = BY_EDIT) -> None:
        """Wake a tree, by its index."""
        if tree >= len(self.solver["spans"]):  # it has just come in
            self._follow_tables()
        span = self.solver["spans"][tree]
        if span["asleep"]:
            span["woken_by"] = why
            span["asleep"] = 0
        span["still"] = 0.0

    @contextmanager
    def _waking(self, *bodies: int) -> Iterator[None]:
        """Wake bodies for a change of the structure; if that is refused, they sleep on."""
        trees = [self.forest.tree_of(body) & INDEX for body in bodies]
        before = self.solver["spans"][trees].copy()
        self._wake(*bodies)
        try:
            yield
        except BaseException:
            self.solver["spans"][trees] = before
            raise

    def why_awake(self, body: Body | int) -> str:
        """What woke a body when it last slept."""
        waker = int(self.solver["spans"][self.forest.tree_of(self._id(body)) & INDEX]["woken_by"])
        if waker <= 0:
            return WHY.get(waker, "")
        if self.forest._tables[TREES][waker - 1]["next"] != IN_USE:
            return WHY[BY_LOST]
        return f"{self._names[self.forest._id(BODIES, int(self.forest._links(waker - 1)[0]['body']))]!r} touched it"

    def _begin_trees(self, trees: list[int]) -> None:
        """Nothing has woken trees that have just come in; those whose places they have are gone."""
        spans = self.solver["spans"]
        for tree in trees:
            place = tree & INDEX
            if tree != place and place < len(spans):  # else nothing has had that place
                woken = spans["woken_by"]
                woken[woken == place + 1] = BY_LOST
                woken[place] = 0

    def _forget_wakers(self) -> None:
        """Trees that an edit has ended are no longer named: others may come to have their places."""
        woken, trees = self.solver["spans"]["woken_by"], self.forest._tables[TREES]["next"]
        waker = np.clip(woken - 1, 0, len(trees) - 1)
        woken[(woken > 0) & (trees[waker] != IN_USE)] = BY_LOST

    def _inherit_waker(self, whole: int, parts: set[int]) -> None:
        """Parts that a cut has made trees were woken when the whole was, whoever had their places before."""
        woken = self.solver["spans"]["woken_by"]
        for part in parts:
            woken[part & INDEX] = woken[whole & INDEX]

    def _neighbours(self, bodies: list[int]) -> list[int]:
        """Bodies that touched one of these in the last step, or that loops or force elements tie to one."""
        indices = {body & INDEX for body in bodies}
        found = set()
        rows = self.shapes.rows
        for pair in self.collisions.pairs[self.collisions.lasting]:
            a, b = int(rows["link"][pair["a"]]), int(rows["link"][pair["b"]])
            if pair["count"] and (a in indices) != (b in indices):
                found.add(b if a in indices else a)
        for a, b in self._ties():
            if (a in indices) != (b in indices):
                found.add(b if a in indices else a)
        return [self.forest._id(BODIES, i) for i in sorted(found) if i >= 0]

    def _ties(self) -> Iterator[tuple[int, int]]:
        """Indices of the bodies that a loop or a force element ties together, -1 for the base."""
        forest = self.forest
        for loop in forest._tables[LOOPS][: int(forest._pools[LOOPS]["count"])]:
            if loop["next"] == IN_USE:
                yield int(loop["a"]), int(loop["b"])
        there = {-1, *forest.bodies.tolist()} if forest.header["element_count"] else set()
        for a, b in forest._ends[: int(forest.header["element_count"])].tolist():
            if a in there and b in there:
                yield a & INDEX if a >= 0 else -1, b & INDEX if b >= 0 else -1

    def is_asleep(self, body: Body | int) -> bool:
        """Whether a body does not move until something wakes it."""
        return bool(self.solver["spans"][self.forest.tree_of(self._id(body)) & INDEX]["asleep"])

    # ------------------------------------------------------------------------------------------------- what there is

    def _id(self, body: Body | int) -> int:
        self._alone()
        if isinstance(body, Body):
            if body.world is not self:
                raise ValueError(f"{body!r} is of another world; here it is world[name], or world.body(id)")
            if self._births.get(body.id) != body.birth:
                raise KeyError(f"world: there is no body {body.name!r} (any more)")
            return int(body.id)
        if isinstance(body, Id):
            body.check(self, BodyId)
        if not isinstance(body, int | np.integer) or isinstance(body, bool):
            raise TypeError(
                f"world: a body is a kinemorph.Body or its id, not {shown(body)}; by its name it is world[name], and "
                "that of a figure figure[name]"
            )
        if int(body) not in self._names:
            raise KeyError(f"world: there is no body {body} (any more)")
        return int(body)

    @property
    def bodies(self) -> list[Body]:
        """All bodies."""
        return [Body(self, id, self._names[id]) for id in self.forest.bodies.tolist()]

    def body(self, id: int) -> Body:
        """The body of an id."""
        number = self._id(id)
        return Body(self, number, self._names[number])

    @property
    def figures(self) -> list[Figure]:
        """All that came in as a model and is not wholly gone, in the order in which they came."""
        return [figure_of(self, one, self._models.get(key)) for key, one in self._figures.items()]

    def figure(self, name: str) -> Figure:
        """The figure of a name, also in a world that was loaded, restored or branched."""
        key = self._only({key: one.name for key, one in self._figures.items()}, name, "figure")
        return figure_of(self, self._figures[key], self._models.get(key))

    def __contains__(self, name: str) -> bool:
        return isinstance(name, str) and name in self._names.values()

    def __getitem__(self, name: str) -> Body:
        """The body of a name; the figure of a model has those of its own."""
        return self.body(self._only(self._names, name, "body"))

    __iter__ = None  # else Python would look for bodies named 0, 1, ...: `bodies` has them all

    def _only(self, names: dict[int, str], name: str, what: str) -> int:
        found = [id for id, other in names.items() if isinstance(name, str) and other == name]
        if len(found) != 1:
            instead = "see world.figures" if what == "figure" else f"ask the figure, or give the {what} itself"
            many = f" alone, but {len(found)} of them: {instead}" if found else ""
            raise KeyError(f"world: there is no {what} {shown(name)}{many}")
        return found[0]

    def joint_id(self, joint: Change | int | str) -> int:
        """The id of a joint: by its name, if that is unique, or of a `Change` that made it."""
        if isinstance(joint, str):
            return self._only(
                {id: name for id, name in self._joints.items() if self.forest.has_joint(id)}, joint, "joint"
            )
        id = joint.joint if isinstance(joint, Change) else joint
        if isinstance(id, Id):
            id.check(self, JointId)
        if not isinstance(id, int | np.integer) or isinstance(id, bool):
            raise TypeError(f"world: a joint is what `connect` returned, its id or its name, not {shown(id)}")
        if not self.forest.has_joint(int(id)):
            raise KeyError(f"world: there is no joint {id} (any more)")
        return int(id)

    def link_of(self, body: int) -> Any:
        """The LINK row of a body."""
        slot = self.forest._tables[BODIES][self.forest._find(BODIES, body, "body")]
        return self.forest._links(int(slot["tree"]))[slot["link"]]

    def _body_at(self, index: int) -> Body | None:
        return None if index < 0 else self.body(self.forest._id(BODIES, index))

    # ---------------------------------------------------------------------------------------------------------- copies

    def __getstate__(self) -> tuple[Any, ...]:
        self._alone()
        if self._header[0]["phase"] != Phase.MOVE:
            raise RuntimeError("this world is in the middle of a step and cannot be copied now")
        check_memory(self.memory)
        self.collisions.lend()
        self._follow_tables()
        if self._minds.header["watched"][0]:
            see_lives(self._address)
        header = self._header.copy()
        for name in (
            "forest",
            "collisions",
            "solver",
            "events",
            "event_count",
            "minds",
            "mind_count",
            "crew",
            "clock",
            "ticks",
        ):
            header[name] = 0
        return (
            self.forest, self.collisions, self.solver, header, self.material, self._names, self._joints, self._mounted,
            self._parted, self._births, self._watches, self._timers, self.memory, dice_of(self.random),
            {key: tuple(one) for key, one in self._figures.items()}, self._minds,
        )  # fmt: skip

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        if state[3].dtype != WORLD:
            raise ValueError("a world that another version of kinemorph has pickled cannot be read")
        self._hold(*state)

    _repr_html_ = in_notebooks("world")

    def __repr__(self) -> str:
        return f"World at {self.time:.6g} s: {len(self.forest.bodies)} bodies, {len(self.shapes)} shapes"
