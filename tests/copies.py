"""One sample of every public class and exception, and what it answers: for copies, pickles and other processes.

`answer` uses an object as its users would and returns numbers and texts; a copy must answer the same.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import kinemorph as km

Q = np.array([0.3, -0.4, 0.2])
V = np.array([0.5, 0.1, -0.7])


def arm() -> km.Model:
    """Two trees, a loop, a shape, a frame, an element."""
    b = km.Builder("arm")
    box = km.Inertia.box(1.0, (0.1, 0.1, 1.0), (0, 0, 0.5))
    b.link("a", joint=km.Joint.revolute("y", stiffness=2.0), inertia=box, shapes=km.Shape.box((0.1, 0.1, 1.0)))
    b.link("b", "a", joint=km.Joint.revolute("y", damping=0.1), at=(0, 0, 1), inertia=box)
    b.link("c", joint=km.Joint.revolute("y"), at=(1, 0, 0), inertia=box)
    b.loop("b", "c", km.Joint.revolute("y"), (1, 0, 0), (0, 0, 1), "pin")
    b.element(km.ForceElement.spring("a", "c", 10.0, 0.5, at_a=(0, 0, 0.5)))
    b.frame("tip", "b", (0, 0, 1))
    return b.build()


def data() -> km.Data:
    model = arm()
    filled = km.Data(model)
    km.forward_dynamics(model, filled, Q, V, np.zeros(3))
    km.crba(model, filled, Q)
    return filled


def state() -> km.State:
    return km.State(Q.copy(), V.copy(), a=V.copy(), tau=Q.copy(), time=1.5)


def pendulum() -> km.Model:
    b = km.Builder("pendulum")
    b.link("ball", joint=km.Joint.revolute("y"), inertia=km.Inertia.sphere(1.0, 0.2, (0, 0, -1)))
    return b.build()


def log() -> km.Log:
    return km.simulate(pendulum(), km.State([1.0], [0.0]), 0.05, [km.Event.at(0.02, name="now")])


def simulation_error() -> Exception:
    try:
        km.simulate(pendulum(), km.State([1.0], [0.0]), 0.05, forces=lambda m, s: [np.nan])
    except km.SimulationError as error:
        return error
    raise AssertionError


def loop_error() -> Exception:
    model = arm()
    try:
        km.close(model, km.Data(model), [0.0, 0.0, np.pi], free=())
    except km.LoopError as error:
        return error
    raise AssertionError


def file_error() -> Exception:
    try:
        km.parse_urdf("<robot>")
    except km.FileError as error:
        return error
    raise AssertionError


def recording() -> km.Recording:
    film = km.Recording("film")
    film.add(pendulum(), [0.1], 0.0)
    film.add(pendulum(), [0.2], 0.1)
    return film


def planned() -> km.Actuation:
    model = arm()
    q = km.close(model, km.Data(model), Q)
    return km.inverse_dynamics(model, km.Data(model), q, np.zeros(3), np.zeros(3))


SAMPLES: dict[str, Callable[[], Any]] = {
    "Model": arm,
    "Data": data,
    "State": state,
    "Joint": lambda: km.Joint.universal("x", "y", damping=0.5, name="u"),
    "JointKind": lambda: km.JointKind.SCREW,
    "Loop": lambda: arm().loops[0],
    "Mimic": lambda: km.Mimic("a", "b", 2.0, 0.5),
    "ForceElement": lambda: arm().elements[0],
    "Inertia": lambda: km.Inertia.sphere(2.0, 0.3, (1, 2, 3)),
    "Pose": lambda: km.Pose.turn((1, 2, 3), 0.4, (5, 6, 7)),
    "Builder": lambda: _builder(),
    "Trajectory": lambda: _path(),
    "Log": log,
    "Simulation": lambda: _simulation(),
    "Event": lambda: km.Event.height("ball", -0.5, name="low"),
    "EventKind": lambda: km.EventKind.FORCE,
    "Energy": lambda: _energy(),
    "Coordinates": lambda: planned().coordinates,
    "Actuation": planned,
    "Recording": recording,
    "SimulationError": simulation_error,
    "LoopError": loop_error,
    "FileError": file_error,
    "ModelWarning": lambda: km.ModelWarning("mind the gap"),
}


def _builder() -> km.Builder:
    b = km.Builder("one")
    b.link("ball", joint=km.Joint.free(), inertia=km.Inertia.sphere(1.0, 0.2))
    return b


def _path() -> km.Trajectory:
    model = pendulum()
    return km.rollout(model, km.Data(model), [1.0], [0.0], steps=5)


def _energy() -> km.Energy:
    model = arm()
    return km.energy(model, km.Data(model), Q, V)


def _simulation() -> km.Simulation:
    run = km.Simulation(pendulum(), km.State([1.0], [0.0]), [km.Event.at(0.02, name="now")])
    run.run(0.03)
    return run


def _opened(model: km.Model) -> Any:
    free = model.with_loops([])
    return km.rollout(free, km.Data(free), Q, V, steps=3).q


def _of_data(one: km.Data) -> Any:
    before = one.M.copy(), one.links["p"].copy(), one.wrenches
    a = km.forward_dynamics(one.model, one, Q, V, np.ones(3))
    return *before, a, one.rank, km.crba(one.model, one, Q).copy()


def _of_simulation(one: km.Simulation) -> Any:
    one.run(0.02)
    return one.log.q, one.log.t, [h.name for h in one.log.happenings]


ANSWERS: dict[str, Callable[[Any], Any]] = {
    "Model": lambda m: (
        m.names, m.loop_names, m.frames["tip"][1].matrix(), len(m.shapes[0]), m.revision,
        km.aba(m, km.Data(m), Q, V, np.zeros(3)), km.forward_dynamics(m, km.Data(m), Q, V, np.zeros(3)),
        _opened(m),
    ),
    "Data": _of_data,
    "Pose": lambda p: p.matrix(),
    "Builder": lambda b: (b.build().names, b.build().nv),
    "Simulation": _of_simulation,
    "Log": lambda l: (l.t, l.q, l.total, [h.name for h in l.happenings]),
    "Recording": lambda r: (r.name, r.t, [b.name for b in r.bodies]),
}  # fmt: skip


def answer(name: str, one: Any) -> Any:
    """What an object says, as something that can be compared."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name in ANSWERS:
            return ANSWERS[name](one)
    if isinstance(one, BaseException):
        kept = {k: v for k, v in vars(one).items() if isinstance(v, int | float | str | np.ndarray)}
        return type(one).__name__, str(one), kept
    return flat(one)


def flat(one: Any) -> Any:
    """Numbers and texts of an object, whatever it is made of."""
    if isinstance(one, np.ndarray | int | float | str | None):
        return one
    if isinstance(one, tuple | list):
        return [flat(x) for x in one]
    if isinstance(one, dict):
        return {str(k): flat(v) for k, v in one.items()}
    fields = getattr(one, "__dict__", None)
    if fields is None:
        fields = {name: getattr(one, name) for name in getattr(one, "__slots__", ())}
    if not fields:
        return repr(one)
    return {k: flat(v) for k, v in fields.items() if not k.startswith("_") and not callable(v)}


def same(x: Any, y: Any) -> bool:
    if isinstance(x, dict):
        return isinstance(y, dict) and x.keys() == y.keys() and all(same(x[k], y[k]) for k in x)
    if isinstance(x, tuple | list):
        return isinstance(y, tuple | list) and len(x) == len(y) and all(map(same, x, y))
    if isinstance(x, np.ndarray):
        if not (isinstance(y, np.ndarray) and x.shape == y.shape and x.dtype == y.dtype):
            return False
        return repr(x.tolist()) == repr(y.tolist()) if x.dtype.names else x.tobytes() == y.tobytes()  # rows have gaps
    return bool(x == y or (x != x and y != y))


def work(job: tuple[str, Any]) -> tuple[Any, Any]:
    """In another process: use an object, and send it back."""
    name, one = job
    said = answer(name, one)
    return said, one


def fail(name: str) -> None:
    """In another process: raise."""
    raise SAMPLES[name]()
