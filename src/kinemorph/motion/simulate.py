"""Simulation of one mechanism through its changes: time runs, events are found, and actions change the structure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph.multibody.checks import NO_FORCES, Array
from kinemorph.multibody.integrators import Method, checked
from kinemorph.multibody.kinematics import kinematics
from kinemorph.multibody.model import Model
from kinemorph.structure.crossing import HappensAgainError, crossed, first_crossing, new_sides, signs
from kinemorph.structure.events import DEAD, EVENT, Change, Event, EventKind, Structure, check_events, look_up
from kinemorph.structure.log import LOOP_ERROR, NUMBERS, Happening, Log, Stretch
from kinemorph.structure.loop_rows import loop_errors
from kinemorph.structure.loops import ClosedData, Mechanism, as_mechanism
from kinemorph.structure.progress import Bar
from kinemorph.structure.report import Report, State
from kinemorph.structure.stepping import ADAPTIVE, RUN, Halt, attempt, march, room, take_note

MOST_AT_ONCE = 100  # events within one step; more of them have no end
CHUNK, FRAMES = 1000, 256  # steps and frames of one call

Forces = npt.ArrayLike | Callable[[Any, State], npt.ArrayLike]


class SimulationError(ArithmeticError):
    """A simulation could not go on. `time` (s) and `link` say where, and `log` has all that was computed until then."""

    def __init__(self, message: str, time: float, log: Log, link: str = "") -> None:
        super().__init__(message)
        self.time, self.log, self.link = time, log, link


class Simulation:
    """A model, or a mechanism with loops, that moves and changes. `run` it as often as you like.

    `model` and `state` are what it is now, `log` is all that it did.
    """

    model: Structure
    _data: ClosedData
    _work: Array
    _tau: Array

    def __init__(
        self,
        model: Structure,
        state: State,
        events: Iterable[Event] = (),
        *,
        method: str = "rk4",
        step: float = 1e-3,
        every: float = 0.01,
        forces: Forces | None = None,
        tolerance: float = 1e-9,
        gap: float = 1e-9,
    ) -> None:
        methods = {**{m.name.lower(): int(m) for m in Method}, "adaptive": ADAPTIVE}
        if method not in methods:
            raise ValueError(f"method {method!r} is not one of {', '.join(methods)}")
        for name, value in (("step", step), ("every", every), ("tolerance", tolerance), ("gap", gap)):
            if not (np.isfinite(value) and value > 0.0):
                raise ValueError(f"{name} {value} must be positive and finite")
        if not np.isfinite(state.time):
            raise ValueError(f"the state's time {state.time} must be finite")
        self.log = Log()
        self._events = check_events(events)
        self._rows = np.zeros(len(self._events), EVENT)
        self._rows["dead"] = DEAD
        self._counts = [0] * len(self._events)
        self._calls = [i for i, e in enumerate(self._events) if e.kind is EventKind.CALL]
        self._step, self._every = float(step), float(every)
        self._run = np.zeros(1, RUN)
        run = self._run[0]
        run["method"], run["tolerance"], run["gap"], run["h"] = methods[method], tolerance, gap, step
        run["t"] = state.time
        self._control = forces if callable(forces) else None
        tau = None if forces is None or callable(forces) else checked(_tree(model), tau=forces)[0]
        self._adopt(model, State(state.q, state.v, tau=state.tau if tau is None else tau), True)

    # ------------------------------------------------------------------------------------------------ what it is

    @property
    def time(self) -> float:
        """s"""
        return float(self._run[0]["t"])

    @property
    def state(self) -> State:
        """Where it is and how it moves now."""
        return State(self._q.copy(), self._v.copy(), tau=self._tau.copy(), time=self.time)

    def _adopt(self, model: Structure, state: State, first: bool = False) -> None:
        """Go on with this structure and state; nothing has changed if they are no good."""
        tree = _tree(model)
        q, v = checked(tree, q=state.q, v=state.v)
        same = not first and model is self.model
        none = self._tau if same else np.zeros(tree.nv)
        tau = checked(tree, tau=none if state.tau is None else state.tau)[0]
        if same:
            self._refuse_open(tree, self._numbers(self._data, q, v, self._work, tree))
        else:
            mechanism = as_mechanism(model)
            rows = self._rows.copy()
            look_up(self._events, rows, mechanism, first)
            data, work = ClosedData(mechanism), room(tree)
            self._refuse_open(tree, self._numbers(data, q, v, work, tree))
            self.model, self._mechanism, self._data, self._work = model, mechanism, data, work
            self._run[0]["gx"], self._run[0]["gy"], self._run[0]["gz"] = tree.gravity
            for i, e in enumerate(self._events):
                if rows[i]["awake"] and not self._rows[i]["awake"]:
                    rows[i]["side"] = 0
                rows[i]["awake"] &= self._counts[i] < e.times
            self._rows[:] = rows
            self._logs = (np.empty(FRAMES), np.empty((FRAMES, tree.nq)), np.empty((FRAMES, tree.nv)))
            self._number_log = np.empty((FRAMES, NUMBERS))
        self._q, self._v, self._tau = q, v, tau
        self._q1, self._v1 = np.empty_like(q), np.empty_like(v)
        if first or self.log.stretches[-1].model is not model or self.log.stretches[-1].t[-1] == self.time:
            self.log.stretches.append(Stretch(model))
        self._note()

    def _refuse_open(self, tree: Model, numbers: Array) -> None:
        if not numbers[LOOP_ERROR] <= self._run[0]["gap"]:
            raise ValueError(
                f"model {tree.name!r}: a loop is open by {numbers[LOOP_ERROR]:.3g} (rad or m); "
                "close it first, with kinemorph.close or project"
            )

    def _numbers(self, data: ClosedData, q: Array, v: Array, work: Array, tree: Model) -> Array:
        numbers = np.empty(NUMBERS)
        run = self._run.copy()
        run[0]["gx"], run[0]["gy"], run[0]["gz"] = tree.gravity
        take_note(data.handle, run, q, v, work, numbers)
        return numbers

    def _note(self) -> Array:
        """Log the state as it is now."""
        numbers = self._numbers(self._data, self._q, self._v, self._work, _tree(self.model))
        t = np.array([self.time])
        self.log.stretches[-1].add(t, self._q[np.newaxis], self._v[np.newaxis], numbers[np.newaxis])
        return numbers

    # --------------------------------------------------------------------------------------------------- running

    def run(self, duration: float) -> Log:
        """Go on for so many seconds, or until an event that ends. Returns the log of all that happened so far.

        Steps are made a little shorter than asked, if need be, so that a whole number of them fits.
        """
        if not (np.isfinite(duration) and duration >= 0.0):
            raise ValueError(f"duration {duration} must be finite and not negative")
        run = self._run[0]
        grid = max(self._every, self._step) if run["method"] == ADAPTIVE else self._step
        run["last"] = max(1, int(np.ceil(duration / grid - 1e-9))) if duration > 0.0 else 0
        run["step"] = duration / max(run["last"], 1)
        run["start"], run["point"] = run["t"], 0
        run["every"] = 1 if run["method"] == ADAPTIVE else max(1, round(self._every / self._step))
        end = float(run["t"] + duration)
        self._arm()
        with Bar(float(run["t"]), end) as progress:
            while run["point"] < run["last"] and self._advance():
                progress.show(self.time)
        if self.log.stretches[-1].t[-1] < self.time:
            self._note()
        return self.log

    def _advance(self) -> bool:
        """One call of the kernel and what comes of it. Whether to go on."""
        run = self._run[0]
        if self._control is not None:
            try:
                self._tau = checked(_tree(self.model), tau=self._control(self.model, self.state))[0]
            except Exception as error:
                raise SimulationError(f"forces at t = {self.time:g} s: {error}", self.time, self.log) from error
        stepwise = bool(self._calls) or self._control is not None
        run["budget"], run["frames"] = 1 if stepwise else CHUNK, 0
        before = (self._q.copy(), self._v.copy(), run.copy(), self._rows["side"].copy()) if self._calls else None
        halt = Halt(
            march(
                self._data.handle, self._run, self._rows, self._q, self._v, self._tau, NO_FORCES, self._work,
                *self._logs, self._number_log,
            )
        )  # fmt: skip
        length = float(run["length"])
        if before is not None and run["t"] > before[2]["t"]:
            self._call(self._q, self._v, self.time)
            if crossed(self._rows):  # back to where the step began
                length = float(run["t"] - before[2]["t"])
                (self._q, self._v, self._run[0], self._rows["side"]), halt = before, Halt.EVENT
                run = self._run[0]
            else:
                self._pass_by()
        count = int(run["frames"])
        if count:
            self.log.stretches[-1].add(*(a[:count] for a in self._logs), self._number_log[:count])
        if halt in (Halt.NOT_FINITE, Halt.OPEN, Halt.STUCK):
            raise self._failure(halt)
        return self._happen(length) if halt is Halt.EVENT else True

    def _failure(self, halt: Halt) -> SimulationError:
        run, tree = self._run[0], _tree(self.model)
        h = float(run["start"] + (run["point"] + 1) * run["step"] - run["t"])
        where = f"model {tree.name!r}: at t = {self.time:g} s"
        if halt is Halt.OPEN:
            self._try(h)
            gaps = np.abs(loop_errors(self._mechanism, self._data, self._q1))
            worst = [gaps[l["first"] : l["first"] + l["m"]].max(initial=0.0) for l in self._data.loops]
            name = self._mechanism.names[int(np.argmax(worst))]
            why = f"{where} a step left loop {name!r} open by {run['open']:.3g} (rad or m)"
            return SimulationError(f"{why}; a smaller step than {self._step:g} s may help", self.time, self.log, name)
        if halt is Halt.STUCK:
            why = f"{where} no step is small enough for tolerance {run['tolerance']:g}; the motion may be too stiff"
            return SimulationError(why, self.time, self.log)
        self._try(h)
        bad = np.flatnonzero(~np.isfinite(self._v1))
        link = int(tree.dofs["link"][bad[0]]) if bad.size else 0
        for i, l in enumerate(tree.links):
            if not bad.size and not np.isfinite(self._q1[l["iq"] : l["iq"] + l["nq"]]).all():
                link = i
                break
        name = tree.names[link]
        why = f"{where} a step gave link {name!r} a state that is not finite"
        return SimulationError(f"{why}; a smaller step than {self._step:g} s may help", self.time, self.log, name)

    # ---------------------------------------------------------------------------------------------------- events

    def _arm(self) -> None:
        """Of each event, find out on which side it starts."""
        self._try(0.0)
        fresh = (self._rows["side"] == 0) & (self._rows["awake"] != 0)
        self._rows["side"][fresh] = signs(self._rows)[fresh]
        for i, e in enumerate(self._events):
            if e.kind is EventKind.TIME and self._rows["g"][i] <= DEAD and not self._counts[i]:
                self._rows["side"][i] = -1  # a time that has come exactly counts

    def _try(self, h: float) -> Array:
        """The functions of all events after a step of any length, from here; the state there is in q1 and v1."""
        attempt(
            self._data.handle, self._run, self._rows, self._q, self._v, h, self._tau, NO_FORCES, self._work,
            self._q1, self._v1,
        )  # fmt: skip
        self._call(self._q1, self._v1, self.time + h)
        return self._rows["g"].copy()

    def _call(self, q: Array, v: Array, t: float) -> None:
        """Evaluate the functions that are Python's."""
        if not self._calls or not (np.isfinite(q).all() and np.isfinite(v).all()):
            return
        kinematics(self._mechanism.model, self._data.tree, q, v)
        for i in self._calls:
            e = self._events[i]
            try:
                g = float(e.function(self.model, State(q.copy(), v.copy(), time=t), self._data.tree))  # type: ignore[misc]
            except Exception as error:
                raise SimulationError(f"event {e.name!r} at t = {t:g} s: {error}", t, self.log) from error
            if not np.isfinite(g):
                raise SimulationError(f"event {e.name!r} at t = {t:g} s: its function is {g}", t, self.log)
            self._rows[i]["g"] = g

    def _pass_by(self) -> None:
        s = signs(self._rows)
        for i in self._calls:
            if s[i]:
                self._rows[i]["side"], self._rows[i]["dead"] = s[i], DEAD

    def _happen(self, length: float) -> bool:
        """The first events of the next step happen in their order, then those that they cause. Whether to go on."""
        try:
            s, fired, moves = first_crossing(self._try, self._rows, length)
        except HappensAgainError as again:
            name = self._events[again.index].name
            text = f"event {name!r} has just happened at t = {self.time:g} s and would happen again at once"
            raise SimulationError(f"{text}: its action does not last", self.time, self.log) from None
        run = self._run[0]
        self._q, self._v = self._q1.copy(), self._v1.copy()
        run["t"] += s
        if run["t"] > run["start"] + (run["point"] + 1) * run["step"] - 1e-12:
            run["point"] += 1
        done: set[int] = set()  # at one instant an event happens once
        while fired:
            if any([self._one(i) for i in fired]):
                return False
            new_sides(self._try, self._rows, fired, [m or self._repeats(i) for i, m in enumerate(moves)])
            done.update(fired)
            fired = [i for i in crossed(self._rows) if i not in done]
            moves[:] = True
        return True

    def _repeats(self, i: int) -> bool:
        """Whether an event has happened twice within one step."""
        recent = [h for h in self.log.happenings[-MOST_AT_ONCE:] if h.t > self.time - self._step]
        return sum(h.name == self._events[i].name for h in recent) > 1

    def _one(self, i: int) -> bool:
        """One event happens. Whether the simulation ends with it."""
        e = self._events[i]
        if not self._rows[i]["awake"]:  # what it measures is gone, by an event at the same instant
            return False
        t, before, result, change = self.time, self.state, None, None
        try:
            if e.only is not None and not e.only(self.model, before):
                return False
        except Exception as error:
            raise SimulationError(f"event {e.name!r} at t = {t:g} s: {error}", t, self.log) from error
        self._counts[i] += 1
        if self._counts[i] >= e.times:
            self._rows[i]["awake"] = 0
        recent = self.log.happenings[-MOST_AT_ONCE:]
        if len(recent) == MOST_AT_ONCE and recent[0].t > t - self._step:
            text = f"{MOST_AT_ONCE} events within {self._step:g} s before t = {t:g} s, the last {e.name!r}"
            raise SimulationError(f"{text}: they have no end", t, self.log)
        numbers = self._note()
        try:
            change = e.action(self.model, before) if e.action else None
            result = _result(change)
            if result is not None:
                self._adopt(*result)
        except Exception as error:
            raise SimulationError(f"event {e.name!r} at t = {t:g} s: {error}", t, self.log) from error
        lost = float(numbers[:3].sum() - self.log.stretches[-1].total[-1]) if result is not None else 0.0
        report = change if isinstance(change, Report) else None
        self.log.happenings.append(Happening(t, e.name, before, self.state, lost, result is not None, report))
        return self._counts[i] == e.ends


def simulate(
    model: Structure,
    state: State,
    duration: float,
    events: Iterable[Event] = (),
    *,
    method: str = "rk4",
    step: float = 1e-3,
    every: float = 0.01,
    forces: Forces | None = None,
    tolerance: float = 1e-9,
    gap: float = 1e-9,
) -> Log:
    """Let a model (or a mechanism with loops) move for some seconds, and change at events.

    `method` is "rk4" or "euler" (steps of `step` seconds) or "adaptive" (RK4 with step doubling, each step's error
    below `tolerance`). A frame is logged `every` so many seconds, and before and after each event. `forces` are joint
    forces (nv): an array, which the changes of structure carry along, or a function of the structure and the state
    that is called at every step. A loop that stays open by more than `gap` is an error. On any error the log so far is
    in the exception, `SimulationError.log`.
    """
    simulation = Simulation(
        model, state, events, method=method, step=step, every=every, forces=forces, tolerance=tolerance, gap=gap
    )
    return simulation.run(duration)


def _tree(model: Structure) -> Model:
    return model.model if isinstance(model, Mechanism) else model


def _result(change: Change) -> tuple[Structure, State] | None:
    """What an action has returned, as a structure and a state."""
    if change is None:
        return None
    pair = (change.model, change.state) if isinstance(change, Report) else change
    good = isinstance(pair, tuple) and len(pair) == 2
    if not (good and isinstance(pair[0], (Model, Mechanism)) and isinstance(pair[1], State)):
        raise TypeError("an action must return a Report, a model and a State, or None")
    return pair
