"""Simulation of one mechanism through its changes: time runs, events are found, and actions change the structure."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph._files import warn_of_model
from kinemorph.constraint.loops import loop_errors
from kinemorph.motion import event_time
from kinemorph.motion.events import (
    DEAD,
    EVENT,
    HELD,
    Event,
    EventKind,
    Outcome,
    check_events,
    resolve_event_names,
    takes_data,
)
from kinemorph.motion.exceeded_limits import warn_ignored
from kinemorph.motion.force_callbacks import make_callback_step
from kinemorph.motion.integrators import ADAPTIVE, Method, make_integrator_workspace
from kinemorph.motion.joint_limits import Stops
from kinemorph.motion.log import FRAME, Happening, Log, Stretch
from kinemorph.motion.progress import Bar
from kinemorph.motion.stepping import MOST_STEPS_TO_GRID, RUN, Halt, attempt, march, step_length, take_frame
from kinemorph.multibody.algorithms.kinematics import kinematics
from kinemorph.multibody.checks import NO_FORCES, Array, check_quaternions, check_state, checked_copies
from kinemorph.multibody.data import Data
from kinemorph.multibody.model.model import Model
from kinemorph.multibody.state import State
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import as_number, check_finite, repr_of
from kinemorph.structure.report import ModelEdit

MOST_STEPS = 1 << 53
MOST_AT_ONCE = 100  # events within one step; more of them have no end
MOST_BOUNCES = 24  # within one step; then joints that push each other from limit to limit stay at them
MOST_RESTINGS = 1000  # times that joints come to their limits within one step
NOTHING: list[int] = []
CHUNK, FRAMES = 1000, 256  # steps and frames of one call

Forces = npt.ArrayLike | Callable[[Model, State], npt.ArrayLike]


class SimulationError(ArithmeticError):
    """A simulation could not go on. `time` (s) and `link` say where, and `log` has all that was computed until then."""

    def __init__(self, message: str, time: float = 0.0, log: Log | None = None, link: str = "") -> None:
        super().__init__(message, time, log, link)  # all of it: an exception is pickled by its arguments
        self.time, self.log, self.link = time, log or Log(), link

    def __str__(self) -> str:
        return str(self.args[0])


@checked_first
class Simulation:
    """A model that moves and changes. `run` it as often as you like.

    `model` and `state` are what it is now, `log` is all that it did.
    """

    model: Model
    _data: Data
    _work: Array
    _tau: Array
    _external: Array

    def __init__(
        self,
        model: Model,
        state: State,
        events: Iterable[Event] = (),
        *,
        method: str = "rk4",
        dt: float = 1e-3,
        log_dt: float = 0.01,
        forces: Forces | None = None,
        external: Forces | None = None,
        tolerance: float = 1e-9,
        gap: float = 1e-9,
        limits: bool = True,
        restitution: float = 0.0,
    ) -> None:
        check_state(model, state)
        methods = {m.name.lower(): int(m) for m in Method}
        if method not in methods:
            raise ValueError(f"method {repr_of(method)} is not one of {', '.join(methods)}")
        for name, value in (("dt", dt), ("log_dt", log_dt), ("tolerance", tolerance), ("gap", gap)):
            if not 0.0 < as_number(value) < np.inf:
                raise ValueError(f"{name} {value} must be positive and finite")
        if not np.isfinite(state.time):
            raise ValueError(f"the state's time {state.time} must be finite")
        self._limited, self._restitution = bool(limits), check_finite("restitution", restitution, 0.0, 1.0)
        self.log = Log()
        self._turn = threading.Lock()  # of the thread that runs it
        self._events = check_events(events)
        self._rows = np.zeros(len(self._events), EVENT)  # of the events, and then those of the limits of joints
        self._rows["dead"] = DEAD
        self._counts = [0] * len(self._events)
        self._calls = [i for i, e in enumerate(self._events) if e.kind is EventKind.CALL]
        self._dt, self._log_dt = float(dt), float(log_dt)
        self._resting, self._restings = -1, 0  # the last step in which joints came to their limits, and how often
        self._run = np.zeros(1, RUN)
        run = self._run[0]
        run["method"], run["tolerance"], run["gap"], run["h"] = methods[method], tolerance, gap, dt
        run["t"], run["most_tries"] = state.time, MOST_STEPS_TO_GRID
        self._forces = forces if callable(forces) else None
        self._push = external if callable(external) else None
        tau = None if forces is None or callable(forces) else checked_copies(model, tau=forces)[0]
        given = NO_FORCES if external is None or callable(external) else external
        self._external = checked_copies(model, external=given)[0]
        self._adopt(model, State(state.q, state.v, tau=state.tau if tau is None else tau), True)

    # A copy shares nothing that changes, and can run while this one does not.

    def __copy__(self) -> Simulation:
        return copy.deepcopy(self)

    def __getstate__(self) -> dict[str, Any]:
        if self._turn.locked():
            raise RuntimeError("this Simulation is running and cannot be copied now")
        return {name: value for name, value in vars(self).items() if name != "_turn"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _turn=threading.Lock())
        self._stops.rows = self._rows[len(self._events) :]  # a view again

    # ------------------------------------------------------------------------------------------------ what it is

    @property
    def time(self) -> float:
        """s"""
        return float(self._run[0]["t"])

    @property
    def state(self) -> State:
        """Where it is and how it moves now."""
        return State(self._q.copy(), self._v.copy(), tau=self._tau.copy(), time=self.time)

    def _adopt(self, model: Model, state: State, first: bool = False) -> None:
        """Go on with this structure and state; nothing has changed if they are no good."""
        q, v = checked_copies(model, q=state.q, v=state.v)
        same = not first and model is self.model
        none = self._tau if same else np.zeros(model.nv)
        tau = checked_copies(model, tau=none if state.tau is None else state.tau)[0]
        if same:
            self._refuse_open(model, self._observed(self._data, q, v, self._work))
        else:
            if not first and len(self._external):
                raise ValueError(
                    "constant external forces belong to the links of one structure; give a function of model and state"
                )
            count = len(self._events)
            rows = self._rows[:count].copy()
            resolve_event_names(self._events, rows, model, first)
            data, work = Data(model), make_integrator_workspace(model)
            self._refuse_open(model, self._observed(data, q, v, work))
            self.model, self._data, self._work = model, data, work
            self._run[0]["gravity"] = model.gravity
            for i, e in enumerate(self._events):
                if rows[i]["awake"] and not self._rows[i]["awake"]:
                    rows[i]["side"] = 0
                rows[i]["awake"] &= self._counts[i] < e.times
            self._stops = Stops(model, self._limited)
            self._rows = np.concatenate([rows, self._stops.rows])
            self._stops.rows = self._rows[count:]
            self._logs = np.empty((FRAMES, model.nq)), np.empty((FRAMES, model.nv)), np.zeros(FRAMES, FRAME)
        self._q, self._v, self._tau = q, v, tau
        self._q1, self._v1 = np.empty_like(q), np.empty_like(v)
        if first or self.log.stretches[-1].model is not model or self.log.stretches[-1].t[-1] == self.time:
            self.log.stretches.append(Stretch(model))
        self._settled = False
        self._note()

    def _refuse_open(self, model: Model, frame: Any) -> None:
        if not frame["loop_error"] <= self._run[0]["gap"]:
            raise ValueError(
                f"model {model.name!r}: a loop is open by {frame['loop_error']:.3g} (rad or m); "
                "close it first, with kinemorph.close or project"
            )

    def _observed(self, data: Data, q: Array, v: Array, work: Array) -> Any:
        """Energies and what the loops do, at a state."""
        frames, run = np.zeros(1, FRAME), self._run.copy()
        run[0]["gravity"] = data.model.gravity
        take_frame(data.address, run, q, v, work, frames)
        return frames[0]

    def _note(self) -> Any:
        """Log the state as it is now."""
        frame = self._observed(self._data, self._q, self._v, self._work)
        self.log.stretches[-1].add(np.array([frame]), self._q[np.newaxis], self._v[np.newaxis])
        return frame

    # --------------------------------------------------------------------------------------------------- running

    def run(self, duration: float) -> Log:
        """Go on for so many seconds, or until an event that ends. Returns the log of all that happened so far.

        Steps are made a little shorter than asked, if need be, so that a whole number of them fits.
        """
        if not self._turn.acquire(blocking=False):
            raise RuntimeError("this Simulation is running already; give each thread its own: copy.copy(simulation)")
        try:
            return self._go_on(duration)
        finally:
            self._turn.release()

    def _go_on(self, duration: float) -> Log:
        run = self._run[0]
        grid = max(self._log_dt, self._dt) if run["method"] == ADAPTIVE else self._dt
        duration = check_finite(f"with steps dt of {grid:g} s, duration", duration, 0.0, MOST_STEPS * grid)
        run["last"] = max(1, int(np.ceil(duration / grid - 1e-9))) if duration > 0.0 else 0
        run["dt"] = duration / max(run["last"], 1)
        run["start"], run["point"] = run["t"], 0
        run["every"] = 1 if run["method"] == ADAPTIVE else max(1, round(min(self._log_dt / self._dt, MOST_STEPS)))
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
        stepwise = bool(self._calls) or self._controlled
        run["budget"], run["frames"] = 1 if stepwise else CHUNK, 0
        if self._controlled:
            self._take(step_length(self._run))
        before = (self._q.copy(), self._v.copy(), run.copy(), self._rows["side"].copy()) if self._calls else None
        self._lay_out()
        q_log, v_log, frames = self._logs
        run["frame_rows"], run["frame_room"] = frames.ctypes.data, len(frames)
        pushed = self._data.pushed_by(self._external)
        state = self._data.address, self._run.ctypes.data, self._q, self._v, self._tau
        halt = Halt(march(*state, pushed, self._work, q_log, v_log))
        length = float(run["length"])
        if before is not None and run["t"] > before[2]["t"]:
            self._call(self._q, self._v, self.time)
            if event_time.find_crossed_events(self._rows):  # back to where the step began
                length = float(run["t"] - before[2]["t"])
                (self._q, self._v, self._run[0], self._rows["side"]), halt = before, Halt.EVENT
                run = self._run[0]
            else:
                self._pass_by()
        count = int(run["frames"])
        if count:
            q, v, frames = self._logs
            self.log.stretches[-1].add(frames[:count], q[:count], v[:count])
            warn_ignored(self.model, q[:count], v[:count], self._tau, stops=self._limited)
        if halt in (Halt.NOT_FINITE, Halt.OPEN, Halt.STUCK):
            raise self._failure(halt)
        return self._happen(length) if halt is Halt.EVENT else True

    @property
    def _controlled(self) -> bool:
        """Whether forces are asked for at every stage of a step."""
        return self._forces is not None or self._push is not None

    def _ask(self, q: Array, v: Array, t: float) -> tuple[Array, Array]:
        """Joint forces and forces on links at a state, from the functions that say so."""
        if not (np.isfinite(q).all() and np.isfinite(v).all()):  # the step is rejected, and no function sees it
            return self._tau, self._data.pushed_by(self._external)
        state = State(q.copy(), v.copy(), tau=self._tau.copy(), time=t)
        try:
            tau = self._tau
            if self._forces is not None:
                tau = checked_copies(self.model, tau=self._forces(self.model, state))[0]
            external = self._external
            if self._push is not None:
                external = checked_copies(self.model, external=self._push(self.model, state))[0]
        except Exception as error:
            raise SimulationError(f"forces at t = {t:g} s: {error}", t, self.log) from error
        if t == self.time:
            self._tau = tau
        return tau, self._data.pushed_by(external)

    def _take(self, h: float) -> None:
        """Make a step of length h outside of the kernel, and leave it in the workspace."""
        make_callback_step(self._data.address, self._run, self._ask, self._q, self._v, h, self._work)

    def _failure(self, halt: Halt) -> SimulationError:
        run, model = self._run[0], self.model
        h = float(run["start"] + (run["point"] + 1) * run["dt"] - run["t"])
        where = f"model {model.name!r}: at t = {self.time:g} s"
        if halt is Halt.OPEN:
            self._try(h)
            gaps = np.abs(loop_errors(model, self._data, self._q1))
            worst = [gaps[l["first"] : l["first"] + l["m"]].max(initial=0.0) for l in model.loop_rows]
            name = model.loop_names[int(np.argmax(worst))]
            why = f"{where} a step left loop {name!r} open by {run['open']:.3g} (rad or m)"
            return SimulationError(f"{why}; a smaller dt than {self._dt:g} s may help", self.time, self.log, name)
        try:
            check_quaternions(model, self._q)
        except ValueError as error:
            return SimulationError(str(error), self.time, self.log)
        if halt is Halt.STUCK:
            why = f"{where} no step is small enough for tolerance {run['tolerance']:g}; the motion may be too stiff"
            return SimulationError(why, self.time, self.log)
        self._try(h)
        bad = np.flatnonzero(~np.isfinite(self._v1))
        link = int(model.dofs["link"][bad[0]]) if bad.size else 0
        for i, l in enumerate(model.links):
            if not bad.size and not np.isfinite(self._q1[l["iq"] : l["iq"] + l["nq"]]).all():
                link = i
                break
        name = model.names[link]
        why = f"{where} a step gave link {name!r} a state that is not finite"
        return SimulationError(f"{why}; a smaller dt than {self._dt:g} s may help", self.time, self.log, name)

    # ---------------------------------------------------------------------------------------------------- events

    def _arm(self) -> None:
        """Of each event, find out on which side it starts."""
        self._lay_out()
        self._come_to_rest()
        self._try(0.0)
        fresh = (self._rows["side"] == 0) & (self._rows["awake"] != 0)
        self._rows["side"][fresh] = event_time.signs_of_values(self._rows)[fresh]
        for i, e in enumerate(self._events):
            if e.kind is EventKind.TIME and self._rows["g"][i] <= DEAD and not self._counts[i]:
                self._rows["side"][i] = -1  # a time that has come exactly counts

    def _try(self, h: float) -> Array:
        """The functions of all events after a step of any length, from here; the state there is in q1 and v1."""
        if self._controlled and h > 0.0:
            self._take(h)
        attempt(
            self._data.address, self._run, self._rows, self._q, self._v, h, self._tau,
            self._data.pushed_by(self._external), self._work, self._q1, self._v1,
        )  # fmt: skip
        self._call(self._q1, self._v1, self.time + h)
        return self._rows["g"].copy()

    def _call(self, q: Array, v: Array, t: float) -> None:
        """Evaluate the functions that are Python's."""
        if not self._calls or not (np.isfinite(q).all() and np.isfinite(v).all()):
            return
        kinematics(self.model, self._data, q, v)
        for i in self._calls:
            e = self._events[i]
            try:
                g = float(e.function(self.model, State(q.copy(), v.copy(), time=t), self._data))  # type: ignore[misc]
            except Exception as error:
                raise SimulationError(f"event {e.name!r} at t = {t:g} s: {error}", t, self.log) from error
            if not np.isfinite(g):
                raise SimulationError(f"event {e.name!r} at t = {t:g} s: its function is {g}", t, self.log)
            self._rows[i]["g"] = g

    def _pass_by(self) -> None:
        s = event_time.signs_of_values(self._rows)
        for i in self._calls:
            if s[i]:
                self._rows[i]["side"], self._rows[i]["dead"] = s[i], DEAD

    def _happen(self, length: float) -> bool:
        """The first events of the next step happen in their order, then those that they cause. Whether to go on."""
        count = len(self._events)
        try:
            s, fired, moves = event_time.first_crossing(self._try, self._rows, length)
        except event_time.HappensAgainError as again:
            if again.index >= count:
                return self._stop_within(length, again.index)
            name = self._events[again.index].name
            text = f"event {name!r} has just happened at t = {self.time:g} s and would happen again at once"
            raise SimulationError(f"{text}: its action does not last", self.time, self.log) from None
        self._try(s)
        self._go_to(s)
        done: set[int] = set()  # at one instant an event happens once
        let_go = [i for i in fired if self._rows[i]["kind"] == HELD]
        self._settled &= all(i < count for i in fired)
        fired = [i for i in fired if i < count]
        moves = moves[:count]
        while fired or not self._settled:
            if any([self._one(i) for i in fired]):
                return False
            self._come_to_rest([i - count for i in let_go] if not done else [])
            if fired:
                event_time.update_event_sides(
                    self._try, self._rows, fired, [m or self._repeats(i) for i, m in enumerate(moves)]
                )
            done.update(fired)
            self._try(0.0)
            fired = [i for i in event_time.find_crossed_events(self._rows) if i < count and i not in done]
            moves[:] = True
        return True

    # ---------------------------------------------------------------------------------------- joints at their limits

    def _come_to_rest(self, let_go: list[int] = NOTHING) -> None:
        """Joints at their limits bounce, or stay there if they are pushed; those in `release_grasp` leave."""
        if self._settled:
            return
        self._settled = True
        stops, count = self._stops, len(self._events)
        if not len(stops.rows):
            self._lay_out()
            return
        self._restings = self._restings + 1 if self._resting == self._run[0]["point"] else 0
        self._resting = int(self._run[0]["point"])
        if self._restings > MOST_RESTINGS:
            text = f"joints come to their limits {MOST_RESTINGS} times within a step at t = {self.time:g} s"
            raise SimulationError(
                f"{text}: they find no rest; a smaller dt than {self._dt:g} s may help", self.time, self.log
            )
        forces = self._tau, self._data.pushed_by(self._external)
        if self._controlled:
            forces = self._ask(self._q, self._v, self.time)
        stops.hold([], count)
        touched = stops.touched(self._data, self._q)
        stops.warn_beyond()
        e = 0.0 if self._restitution < 1.0 and self._often(MOST_BOUNCES) else self._restitution
        v, struck, held = stops.settle(self._data, self._q, self._v, forces, self._work, e, self._dt, let_go)
        if struck:
            self._strike(v, " and ".join(map(stops.name, struck)))
        stops.hold(held, count)
        stops.rows["side"][touched] = 1
        stops.rows["dead"] = DEAD
        stops.rows["dead"][touched] = 10.0 * DEAD + 4.0 * np.abs(stops.rows["g"][touched])  # their time is not exact
        self._lay_out()

    def _lay_out(self) -> None:
        """Tell kernels where the events are, and what holds joints."""
        run, stops = self._run[0], self._stops
        run["events"], run["event_count"] = self._rows.ctypes.data, len(self._rows)
        run["holds"], run["hold_count"] = stops.holds.ctypes.data, len(stops.holds)
        run["hold_room"], run["hold_room_length"] = stops.room.ctypes.data, len(stops.room)

    def _strike(self, v: Array, name: str) -> None:
        """Velocities jump."""
        self._refuse_endless(name)
        before, frame = self.state, self._note()
        self._v = v
        self.log.stretches.append(Stretch(self.model))
        after = self._note()
        lost = float(frame["kinetic"] - after["kinetic"])
        self.log.happenings.append(Happening(self.time, name, before, self.state, lost, True))

    def _stop_within(self, length: float, i: int) -> bool:
        """A joint that rests at its limit without a force is pushed into it within a step."""
        low, high = 0.0, length
        while high - low > event_time.EVENT_TIME_ERROR:
            middle = 0.5 * (low + high)
            low, high = (low, middle) if self._try(middle)[i] < -self._rows["dead"][i] else (middle, high)
        self._try(high)
        self._go_to(high)
        self._settled = False
        self._come_to_rest([i - len(self._events)] if self._rows[i]["kind"] == HELD else [])
        return True

    def _go_to(self, s: float) -> None:
        """Take over the state of the last try, s seconds from here."""
        run = self._run[0]
        self._q, self._v = self._q1.copy(), self._v1.copy()
        run["t"] += s
        if run["t"] > run["start"] + (run["point"] + 1) * run["dt"] - 1e-12:
            run["point"] += 1

    def _repeats(self, i: int) -> bool:
        """Whether an event has happened twice within one step."""
        recent = [h for h in self.log.happenings[-MOST_AT_ONCE:] if h.t > self.time - self._dt]
        return sum(h.name == self._events[i].name for h in recent) > 1

    def _one(self, i: int) -> bool:
        """One event happens. Whether the simulation ends with it."""
        e = self._events[i]
        if not self._rows[i]["awake"]:  # what it measures is gone, by an event at the same instant
            return False
        t, before, result, change = self.time, self.state, None, None
        try:
            if e.only is not None and not self._asked(e.only, before):
                return False
        except Exception as error:
            raise SimulationError(f"event {e.name!r} at t = {t:g} s: {error}", t, self.log) from error
        self._counts[i] += 1
        if self._counts[i] >= e.times:
            self._rows[i]["awake"] = 0
        self._refuse_endless(e.name)
        frame = self._note()
        try:
            change = self._asked(e.action, before) if e.action else None
            result = _result(change)
            if result is not None:
                self._adopt(*result)
        except Exception as error:
            raise SimulationError(f"event {e.name!r} at t = {t:g} s: {error}", t, self.log) from error
        energy = float(frame["kinetic"] + frame["potential"] + frame["elastic"])
        lost = energy - float(self.log.stretches[-1].total[-1]) if result is not None else 0.0
        report = change if isinstance(change, ModelEdit) else None
        if report is not None and self._forces is None and report.misled:
            warn_of_model(
                f"model {self.model.name!r}: joint {report.misled[0]!r} changed sides at t = {t:g} s, so its constant "
                "forces act along axes that turn with its other link from now on; give forces as a function instead"
            )
        self.log.happenings.append(Happening(t, e.name, before, self.state, lost, result is not None, report))
        return self._counts[i] == e.ends

    def _often(self, count: int) -> bool:
        """Whether so many events have happened within one step before now."""
        recent = self.log.happenings[-count:]
        return len(recent) == count and recent[0].t > self.time - self._dt

    def _refuse_endless(self, name: str) -> None:
        if self._often(MOST_AT_ONCE):
            text = f"{MOST_AT_ONCE} events within {self._dt:g} s before t = {self.time:g} s, the last {name!r}"
            raise SimulationError(f"{text}: they have no end", self.time, self.log)

    def _asked(self, function: Callable[..., Any], state: State) -> Any:
        """What a function of the model and the state says; one of three arguments gets the data as well."""
        if not takes_data(function):
            return function(self.model, state)
        kinematics(self.model, self._data, state.q, state.v)
        return function(self.model, state, self._data)


@checked_first
def simulate(
    model: Model,
    state: State,
    duration: float,
    events: Iterable[Event] = (),
    *,
    method: str = "rk4",
    dt: float = 1e-3,
    log_dt: float = 0.01,
    forces: Forces | None = None,
    external: Forces | None = None,
    tolerance: float = 1e-9,
    gap: float = 1e-9,
    limits: bool = True,
    restitution: float = 0.0,
) -> Log:
    """Let a model move for some seconds, and change at events. Its loops stay closed.

    `method` is "rk4" or "euler" (steps of `dt` seconds) or "adaptive" (RK4 with step doubling, each step's error
    below `tolerance`). A frame is logged every `log_dt` seconds, and before and after each event. `forces` are joint
    forces (nv): an array, which the changes of structure carry along, or a function of the model and the state that is
    asked at every stage of a step. `external` are forces on links (n x 6: moment and force at the link's origin, world
    axes), an array or such a function. A loop that stays open by more than `gap` (rad or m) is an error. Joints of the
    tree stop at their limits, or bounce there with a `restitution` from 0 to 1, if `limits`. On any error the log so
    far is in the exception, `SimulationError.log`.
    """
    simulation = Simulation(
        model, state, events, method=method, dt=dt, log_dt=log_dt, forces=forces, external=external,
        tolerance=tolerance, gap=gap, limits=limits, restitution=restitution,
    )  # fmt: skip
    return simulation.run(duration)


def _result(change: Outcome) -> tuple[Model, State] | None:
    """What an action has returned, as a model and a state."""
    if change is None:
        return None
    pair = (change.model, change.state) if isinstance(change, ModelEdit) else change
    good = isinstance(pair, tuple) and len(pair) == 2
    if not (good and isinstance(pair[0], Model) and isinstance(pair[1], State)):
        raise TypeError("an action must return a ModelEdit, a model and a State, or None")
    return pair
