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
    "Actuator": lambda: km.Actuator.position("actuator_forces", "a", 20.0, 2.0, force=(-1.0, 1.0)),
    "Floor": lambda: km.Floor(material=km.Material(0.7), name="floor"),
    "Keyframe": lambda: km.Keyframe(km.State(Q, np.zeros(3)), (0.1,)),
    "PairMaterial": lambda: km.PairMaterial("a", "b", km.Material(0.7)),
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
    "Scene": lambda: km.load_scene("crane"),
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
    "Scene": lambda s: (s.name, s.world.hash(), [b.name for b in s.world.bodies]),
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


# ------------------------------------------------------------------------------------------- geometry and collision


BOX, BALL = km.Shape.box((0.4, 0.6, 0.8)), km.Shape.sphere(0.3)
NEAR = km.Pose.turn((1, 2, 3), 0.3, (0.1, 0.2, 0.6))  # they overlap
APART = km.Pose((0.1, 0.2, 0.9))


def forest() -> km.Forest:
    b = km.Builder("pair")
    for name, x in (("one", 0.0), ("two", 1.0)):
        b.link(name, joint=km.Joint.free(), at=(x, 0, 0), inertia=km.Inertia.box(1.0, (0.1, 0.2, 0.3)))
    live = km.Forest()
    here = live.add(b.build(), v=np.linspace(-1.0, 1.0, 12))
    live.connect(int(here.bodies[0]), int(here.bodies[1]), km.Joint.revolute("y"), (0.5, 0, 0))
    return live


def _of_forest(live: km.Forest) -> Any:
    said = [live.bodies, live.joints, live.momentum()]
    live.reroot(int(live.bodies[-1]))
    live.forward_dynamics()
    said += [live.state(int(t)).a for t in live.trees]
    live.cut(int(live.joint_of(int(live.bodies[0]))))
    return [*said, live.trees, *(live.pose(int(b)).matrix() for b in live.bodies), repr(live)]


def report() -> km.ModelEdit:
    model = arm()
    return km.reroot(model, km.State(km.close(model, km.Data(model), Q), np.zeros(3)), "b")


def shape_table() -> km.ShapeTable:
    table = km.ShapeTable()
    table.add(km.HalfSpace(), -1)
    table.add(BOX, 0)
    table.add(BALL, 1)
    return table


def collisions() -> km.Collisions:
    return km.Collisions(shape_table(), margin=0.05)


def _of_collisions(one: km.Collisions) -> Any:
    for height in (0.42, 0.4, 0.38):
        one.update([km.Pose((0, 0, height)), km.Pose((0.2, 0.1, height + 0.6))])
    return len(one.pairs), [c["distance"] if "distance" in (c.dtype.names or ()) else c.tolist() for c in one.contacts]


def broad_phase() -> km.BroadPhase:
    broad = km.BroadPhase()
    for x in (0.0, 0.5, 3.0):
        broad.add((x, 0, 0), (x + 1.0, 1, 1))
    return broad


def _of_broad_phase(broad: km.BroadPhase) -> Any:
    before = broad.pairs.tolist()
    broad.add((3.5, 0.5, 0.5), (4.0, 1.0, 1.0))
    return before, broad.pairs.tolist()


SAMPLES |= {
    "BroadPhase": broad_phase,
    "Candidates": lambda: km.Candidates.ALL,
    "Edit": lambda: forest().reroot(int(forest().bodies[1])),
    "Collisions": collisions,
    "Contact": lambda: km.contacts(BOX, None, BALL, NEAR)[0],
    "Distance": lambda: km.distance(BOX, None, BALL, NEAR),
    "Fault": lambda: km.mesh_faults(km.Mesh(np.eye(3), np.array([[0, 1, 2]], np.int32)))[0],
    "FaultKind": lambda: next(iter(km.FaultKind)),
    "Feature": lambda: km.distance(BOX, None, BALL, APART).feature_a,
    "Forest": forest,
    "Ground": lambda: km.HalfSpace((0, 1, 1), 0.2),
    "HalfSpace": lambda: km.HalfSpace((0, 0, 1), 0.1),
    "HeightField": lambda: km.HeightField(np.arange(12.0).reshape(3, 4) / 30.0, (2.0, 2.0)),
    "SurfacePoint": lambda: km.cast(BOX, None, (0, 0, 5), (0, 0, -1)),
    "MassProperties": lambda: km.mass_properties(km.mesh_of(BOX)),
    "Material": lambda: km.Material(0.7, restitution=0.3),
    "Mesh": lambda: km.mesh_of(BOX),
    "Pair": lambda: km.Pair(BOX, BALL),
    "Parts": lambda: km.Parts([km.core_of(BOX)[0]]),
    "AddedModel": lambda: km.Forest().add(pendulum()),
    "Polyhedron": lambda: km.core_of(BOX)[0],
    "PairQuery": lambda: km.PairQuery.DISTANCE,
    "ModelEdit": report,
    "Role": lambda: km.Role.VISUAL,
    "Shape": lambda: km.Shape.capsule(0.1, 0.5, NEAR),
    "ShapeKind": lambda: km.ShapeKind.BOX,
    "ShapeTable": shape_table,
    "Terrain": lambda: km.Terrain(km.mesh_of(BOX)),
}


def _distance_to(solid: Any) -> Any:
    found = km.distance(solid, None, BALL, km.Pose((0.1, 0.05, 1.5)))
    return found.distance, found.point_a, found.normal


ANSWERS |= {
    **dict.fromkeys(("Ground", "HalfSpace", "HeightField", "Terrain", "Parts", "Polyhedron", "Shape"), _distance_to),
    "Pair": lambda p: (p.distance(None, NEAR).distance, p.distance(None, km.Pose((0, 0, 1))).point_b),
    "Forest": _of_forest,
    "ModelEdit": lambda r: (r.model.names, r.state.q, r.link_map, r.q_map, r.v_map, r.loop_map, r.loop_error, r.joint),
    "Collisions": _of_collisions,
    "ShapeTable": lambda t: (t.ids, len(t), repr(t)),
    "BroadPhase": _of_broad_phase,
    "Contact": lambda c: repr(c),
    "Distance": lambda d: repr(d),
    "Mesh": lambda m: (m.vertices, m.faces) if hasattr(m, "faces") else flat(m),
}


# ---------------------------------------------------------------------------------------------------------- worlds


def world() -> km.World:
    made = km.World()
    made.add_ground()
    made.add(BOX, at=(0, 0, 0.41), name="box")
    made.add(BALL, at=(0.1, 0, 1.2), name="ball")
    made.run(0.02)
    return made


def _of_world(made: km.World) -> Any:
    made.run(0.3)
    return made.time, [body.pose.matrix() for body in made.bodies], [t.force for t in made.contacts()], repr(made)


def touch() -> km.ContactPoint:
    made = world()
    made.run(0.3)
    return made.contacts()[0]


def moment() -> km.EventRecord:
    told: list[km.EventRecord] = []
    made = km.World()
    made.add(km.Shape.sphere(0.1), at=(0, 0, 1), name="ball")
    made.when(km.Event.height("ball", 0.9, times=1), lambda world, moment: told.append(moment))
    made.run(0.3)
    return told[0]


def driven() -> tuple[km.World, km.Figure]:
    b = km.Builder("arm")
    for k in range(2):
        hinge = km.Joint.revolute("y", name=f"hinge{k}")
        b.link(f"l{k}", f"l{k - 1}" if k else None, hinge, (0, 0, 1), km.Inertia.sphere(1.0, 0.2, (0, 0, -0.5)))
    made = km.World()
    return made, made.add(b.build())


def _servo() -> km.Servo:
    made, arm = driven()
    return made.servo(arm.joint("hinge0"), 0.5, stiffness=10.0, damping=1.0)


def _motor() -> km.Motor:
    made, arm = driven()
    return made.motor(arm.joint("hinge0"), 0.5, effort_limit=3.0)


def _joint_force() -> km.JointForce:
    made, arm = driven()
    return made.drives.force(arm.joint("hinge0"), 2.0)


def _coupling() -> km.Coupling:
    made, arm = driven()
    return made.drives.couple(arm.joint("hinge1"), arm.joint("hinge0"), 2.0)


def _mind() -> km.BrainInstance:
    made, arm = driven()
    brain = km.brain
    wave = brain.Neuron(brain.Function.WAVE, (1, 0, 1))
    return made.brains.attach(arm, brain.Brain([wave], (), [brain.Effect(brain.Acted.TORQUE, "l1", 0, 2, 1.0, 3.0)]))


def _push() -> km.AppliedForce:
    made, arm = driven()
    return made.apply_force(arm["l1"], force=(1.0, 0.0, 0.0))


def _of_handle(handle: Any) -> Any:
    handle.world.run(0.1)
    forest = handle.world.forest
    return repr(handle), handle.alive, forest.state(int(forest.trees[0])).q


SAMPLES |= {
    "Controls": lambda: driven()[1].control,
    "Coupling": _coupling,
    "JointForce": _joint_force,
    "Journal": lambda: km.World().record("never-entered.journal"),
    "BrainInstance": _mind,
    "Motor": _motor,
    "AppliedForce": _push,
    "Servo": _servo,
    "Body": lambda: world().bodies[0],
    "Figure": lambda: km.World().add(pendulum(), q=[0.3]),
    "EventRecord": moment,
    "RayHit": lambda: world().queries.cast_ray((0, 0, 5), (0, 0, -1)),
    "Statistics": lambda: world().queries.statistics,
    "Timer": lambda: km.World().every(0.1, print, "tick", start=0.5),
    "ContactPoint": touch,
    "BodyStates": lambda: world().states(),
    "EventMonitor": lambda: km.World().when(km.Event.at(0.2)),
    "World": world,
    "WorldError": lambda: km.WorldError("it exploded", 0.3, "box"),
    "DivergenceError": lambda: km.DivergenceError("it went elsewhere", 100, 0.2, "box"),
    "BatchError": lambda: km.BatchError("one could not go on", {1: ValueError("no")}),
}
ANSWERS |= {
    "Body": lambda b: (b.name, b.id, b.pose.matrix(), b.twist, b.mass, b.asleep),
    "Figure": lambda f: (repr(f), f.position("ball"), [b.name for b in f]),
    "Controls": lambda c: (repr(c), len(c)),
    "Journal": lambda j: (str(j.path), j.every, j.world.time),
    **dict.fromkeys(("Coupling", "JointForce", "BrainInstance", "Motor", "AppliedForce", "Servo"), _of_handle),
    "EventRecord": lambda m: (m.name, m.time, m.body.name, m.other, m.value, m.why),
    "RayHit": lambda s: (s.distance, s.point, s.normal, s.body and s.body.name, s.shape),
    "Timer": lambda t: (t.name, t.period, t.due),
    "BodyStates": lambda s: (s.ids, s.poses, s.rotations, s.twists),
    "ContactPoint": lambda t: (t.point, t.normal, t.force, t.distance, t.body.name, t.other),
    "EventMonitor": lambda w: (repr(w), w.count, w.done),
    "World": _of_world,
    "WorldError": lambda e: (str(e), e.time, e.body),
    "DivergenceError": lambda e: (str(e), e.step, e.time, e.body),
    "BatchError": lambda e: (str(e), {i: str(x) for i, x in e.errors.items()}),
}


# ------------------------------------------------------------------------------------------------ recorded motion


def markers() -> km.Markers:
    return km.Markers(("heel", "toe"), np.linspace(0.0, 1.0, 30).reshape(5, 2, 3), 100.0)


SAMPLES |= {"Bvh": lambda: km.load_bvh(km.mocap.walk_file()), "Markers": markers}
ANSWERS |= {
    "Bvh": lambda b: (b.names, b.parents, b.frames[:3], b.dt),
    "Markers": lambda m: (m.names, m.marker("toe"), m.t),
}
