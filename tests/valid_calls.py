# ruff: noqa: E501  (tables)
"""A valid call of every public function, constructor, method and setter, made of what `Bench` has."""

from __future__ import annotations

import hashlib
import pickle
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from tests import copies
from tests.evolve.toy import Reach

import kinemorph as km
from kinemorph import creatures, evolve, mocap

# --------------------------------------------------------------------------------------------------------- the bench


@cache
def chain() -> km.Model:
    """Two hinges and a free body: nothing closed."""
    b = km.Builder("chain")
    b.link("l0", None, km.Joint.revolute("y", name="hinge0"), (0, 0, 2), km.Inertia.sphere(1.0, 0.2, (0, 0, -0.5)))
    b.link("l1", "l0", km.Joint.revolute("y", name="hinge1"), (0, 0, -1), km.Inertia.sphere(1.0, 0.2, (0, 0, -0.5)))
    b.link("free", None, km.Joint.free(), (3, 0, 2), km.Inertia.sphere(1.0, 0.2))
    return b.build()


@cache
def base_world() -> km.World:
    made = km.World()
    made.add_ground()
    made.add(km.Shape.box((0.4, 0.4, 0.4)), (0, 0, 0.2), name="box")
    made.add(km.Shape.sphere(0.2), (2, 0, 1), name="ball")
    b = km.Builder("arm")
    ball = km.Shape.sphere(0.1, mask=0)
    b.link("a0", None, km.Joint.revolute("y", name="j0"), (5, 0, 3), km.Inertia.sphere(1.0, 0.2, (0, 0, -0.5)), ball)
    b.link("a1", "a0", km.Joint.revolute("y", name="j1"), (0, 0, -1), km.Inertia.sphere(1.0, 0.2, (0, 0, -0.5)), ball)
    arm = made.add(b.build())
    made.servo(arm.joint("j0"), 0.1, stiffness=10.0, damping=1.0)
    made.run(0.02)
    return made


@cache
def stranger_world() -> km.World:
    made = km.World()
    made.add(km.Shape.sphere(0.1), name="stranger")
    return made


@cache
def quadruped() -> creatures.Genotype:
    return creatures.handmade("quadruped")


@cache
def walked() -> mocap.Analysis:
    bvh = km.load_bvh(mocap.walk_file())
    return mocap.analyse(km.Bvh(bvh.joints, bvh.frames[:60], bvh.dt, "short"), methods=("smooth",))


@cache
def mocap_files() -> dict[str, Path]:
    bvh = km.load_bvh(mocap.walk_file())
    km.save_bvh(km.Bvh(bvh.joints, bvh.frames[:60], bvh.dt, "short"), "short.bvh")
    return {"bvh": Path("short.bvh")}


@cache
def files() -> dict[str, Path]:
    """One file of each kind, in the folder of this process."""
    model = tree_model()
    found = {kind: getattr(km, f"save_{kind}")(model, f"model.{kind}") for kind in ("urdf", "sdf", "mjcf")}
    km.save_c3d(copies.markers(), "markers.c3d")
    km.save_table("table.csv", {"t": np.arange(3.0), "x": np.ones(3)})
    path = km.rollout(chain(), km.Data(chain()), km.neutral(chain()), np.zeros(8), steps=3)
    km.save_trajectory(chain(), path, "path.csv")
    Path("scene.toml").write_text('name = "one"\n[[body]]\nname = "ball"\nsphere = 0.1\n')
    Path("mesh.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n")
    Path("run.toml").write_text('task = "locomotion"\n')
    filmed().save("film.npz")
    creatures.save_genotype(quadruped(), "genotype.json")
    return found | {
        "c3d": Path("markers.c3d"), "table": Path("table.csv"), "trajectory": Path("path.csv"),
        "scene": Path("scene.toml"), "mesh": Path("mesh.obj"), "film": Path("film.npz"),
        "genotype": Path("genotype.json"), "settings": Path("run.toml"),
    }  # fmt: skip


@cache
def tree_model() -> km.Model:
    b = km.Builder("tree")
    shape = km.Shape.box((0.1, 0.1, 0.1))
    b.link(
        "l0",
        None,
        km.Joint.revolute("y", name="j0", lower=-1, upper=1, effort_limit=9),
        inertia=km.Inertia.sphere(1.0, 0.2),
    )
    b.link(
        "l1",
        "l0",
        km.Joint.revolute("y", name="j1", lower=-1, upper=1, effort_limit=9),
        (0, 0, 1),
        km.Inertia.sphere(1.0, 0.2),
        shape,
    )
    return b.build()


def filmed() -> km.Recording:
    film = km.Recording("film")
    for t in (0.0, 0.1):
        film.add(tree_model(), [0.1 + t, 0.2], t)
    return film


class Bench:
    """What calls are made of. Models and shapes are the same for all calls; what can be changed is made anew."""

    box, ball = km.Shape.box((0.4, 0.6, 0.8)), km.Shape.sphere(0.3)
    joint, pose = km.Joint.revolute("y"), km.Pose((0.1, 0.2, 0.6))
    event = km.Event.at(0.2)

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *_: object) -> None:
        if "store" in self.__dict__:
            with suppress(Exception):  # it may be closed
                self.store.close()
        if "viewer" in self.__dict__:
            self.viewer.__exit__(None, None, None)

    model = property(lambda self: closed_model())
    q = property(lambda self: closed_q().copy())
    chain = property(lambda self: chain())
    chain_q = property(lambda self: km.neutral(chain()))
    other_model = property(lambda self: copies.pendulum())
    stranger = property(lambda self: stranger_world())

    @cached_property
    def data(self) -> km.Data:
        made = km.Data(self.model)
        km.forward_dynamics(self.model, made, self.q, np.zeros(3), np.zeros(3))
        km.kinematics(self.model, made, self.q)
        return made

    @cached_property
    def chain_data(self) -> km.Data:
        made = km.Data(chain())
        km.kinematics(chain(), made, km.neutral(chain()))
        return made

    @cached_property
    def other_data(self) -> km.Data:
        return km.Data(copies.pendulum())

    @cached_property
    def state(self) -> km.State:
        return km.State(self.q, np.zeros(3))

    @cached_property
    def chain_state(self) -> km.State:
        return km.State(self.chain_q, np.zeros(8))

    other_state = property(lambda self: km.State([0.1], [0.0]))

    @cached_property
    def world(self) -> km.World:
        made = base_world().branch()
        self._gone = made.add(km.Shape.sphere(0.1), (9, 9, 9), name="gone")
        made.remove(self._gone)
        return made

    @property
    def removed(self) -> km.Body:
        assert self.world
        return self._gone

    @cached_property
    def figure(self) -> km.Figure:
        return self.world.figure("arm")

    @cached_property
    def forest(self) -> km.Forest:
        return copies.forest()

    @cached_property
    def bodies(self) -> list[int]:
        return self.forest.bodies.tolist()

    @cached_property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng(3)

    @cached_property
    def recording(self) -> km.Recording:
        return filmed()

    @cached_property
    def brain(self) -> Any:
        brain = km.brain
        wave = brain.Neuron(brain.Function.WAVE, (1, 0, 1))
        return brain.Brain([wave], (), [brain.Effect(brain.Acted.TORQUE, "a1", 0, 2, 1.0, 3.0)])

    @cached_property
    def viewer(self) -> Any:
        return km.viewer(self.world, open_browser=False).__enter__()

    @cached_property
    def store(self) -> Any:
        return evolve.begin(_new_file(), self.settings)

    @cached_property
    def settings(self) -> Any:
        return evolve.Settings(
            task="locomotion", search="random", budget=evolve.Budget(generations=1), of_search={"population": 2},
            evaluator="serial", monitor=evolve.Monitor(every=1, draws=0),
        )  # fmt: skip

    @cached_property
    def search(self) -> Any:
        return evolve.Recipe(Reach(), 1, evolve.Budget(generations=2))

    @cached_property
    def job(self) -> Any:
        return evolve.Job(0, 0, Reach().founder(np.random.default_rng(0)), (evolve.Draw(0, 1),))

    @cached_property
    def result(self) -> Any:
        return evolve.Result(0, 0, self.job.draws, (Reach().evaluate(self.job.genotype, self.job.draws[0]),))

    @cached_property
    def individual(self) -> Any:
        outcome = dict(zip(self.result.draws, self.result.outcomes, strict=True))
        return evolve.Individual(0, 0, self.job.genotype, outcomes=outcome)

    @cached_property
    def species(self) -> Any:
        return evolve.Species(creatures.tasks.Locomotion())

    @cached_property
    def phenotype(self) -> Any:
        return creatures.develop(quadruped())

    @cached_property
    def stage(self) -> Any:
        return staged("Locomotion")

    genotype = property(lambda self: quadruped())
    bvh = property(lambda self: mini_bvh())
    analysis = property(lambda self: walked())

    @cached_property
    def env(self) -> Any:
        from kinemorph.gym import WorldEnv

        made = WorldEnv("hand over")
        made.reset(seed=0)
        return made


@cache
def closed_model() -> km.Model:
    return copies.arm()


@cache
def closed_q() -> np.ndarray:
    return km.close(closed_model(), km.Data(closed_model()), copies.Q)


@cache
def mini_bvh() -> km.Bvh:
    bvh = km.load_bvh(mocap.walk_file())
    return km.Bvh(bvh.joints, bvh.frames[:60], bvh.dt, "short")


# --------------------------------------------------------------------------------------------------------- receivers

TASKS = tuple(task.__name__ for task in creatures.tasks.TASKS)
GYM_TASKS = ("HandOver", "StandUp", "Walk")

RECEIVERS: dict[str, Callable[[Bench], Any]] = {
    "World": lambda b: b.world,
    "Body": lambda b: b.world["box"],
    "Figure": lambda b: b.figure,
    "Forest": lambda b: b.forest,
    "Servo": lambda b: b.world.servo("j1", 0.1, stiffness=10.0, damping=1.0),
    "Motor": lambda b: b.world.motor("j1", 0.1, effort_limit=3.0),
    "JointForce": lambda b: b.world.drives.force("j1", 0.1),
    "Coupling": lambda b: b.world.drives.couple("j1", "j0"),
    "AppliedForce": lambda b: b.world.apply_force(b.world["box"], (1.0, 0.0, 0.0)),
    "BrainInstance": lambda b: b.world.brains.attach(b.figure, b.brain),
    "Timer": lambda b: b.world.every(0.1, print),
    "EventMonitor": lambda b: b.world.when(km.Event.at(0.2)),
    "Controls": lambda b: _controlled(b),
    "Builder": lambda b: _built(),
    "Recording": lambda b: b.recording,
    "viewer.Viewer": lambda b: b.viewer,
    "brain.Brain": lambda b: b.brain,
    "convert.Peer": lambda b: km.convert.pinocchio(b.chain),
    "creatures.Genotype": lambda b: b.genotype,
    "creatures.EpisodeStatistics": lambda b: _recorded(b)[0],
    "creatures.Settings": lambda b: creatures.Settings(),
    "creatures.Rates": lambda b: creatures.Rates(),
    "evolve.Individual": lambda b: b.individual,
    "evolve.Recipe": lambda b: b.search,
    "evolve.RecipeSettings": lambda b: evolve.RecipeSettings(),
    "evolve.Serial": lambda b: evolve.Serial(Reach()),
    "evolve.Species": lambda b: b.species,
    "evolve.Store": lambda b: _run(),
    "mocap.Analysis": lambda b: b.analysis,
    "mocap.Body": lambda b: b.analysis.body,
    "mocap.Contacts": lambda b: b.analysis.contacts,
    "mocap.Table": lambda b: mocap.table_of(),
    "mocap.Walking": lambda b: mocap.walking_of(copied_walk()),
    "gym.Reading": lambda b: _gym().Reading(["a0.x"]),
    "gym.WorldEnv": lambda b: b.env,
    "gym.WorldVectorEnv": lambda b: _vector(),
    "Simulation": lambda b: km.Simulation(copies.pendulum(), km.State([1.0], [0.0])),
    "Bvh": lambda b: b.bvh,
    "Collisions": lambda b: _touching(),
    "Scene": lambda b: km.load_scene(files()["scene"]),
    "Journal": lambda b: None,
    "tasks.Stage": lambda b: b.stage,
    "evolve.Processes": lambda b: evolve.Processes(Reach(), 1),
    **{f"tasks.{name}": (lambda b, name=name: getattr(creatures.tasks, name)(seconds=0.05)) for name in TASKS},
    **{
        f"gym.{name}": (lambda b, name=name: b.__dict__.setdefault("gym task", getattr(_gym(), name)()))
        for name in GYM_TASKS
    },
}
# samples of `tests.copies` are receivers of the rest


def copied_walk() -> Any:
    return whole_walk()


@cache
def whole_walk() -> mocap.Analysis:
    return mocap.analyse(mocap.walk_file(), methods=("smooth",))


def _gym() -> Any:
    import kinemorph.gym

    return kinemorph.gym


def _vector() -> Any:
    made = _gym().WorldVectorEnv("hand over", 2, workers=1)
    made.reset(seed=0)
    return made


def _controlled(b: Bench) -> km.Controls:
    builder = km.Builder("driven")
    builder.link("d0", None, km.Joint.revolute("y", name="d"), inertia=km.Inertia.sphere(1.0, 0.2))
    model = builder.build().with_equipment(actuators=(km.Actuator.motor("m", "d"),))
    return b.world.add(model).control


def _built() -> km.Builder:
    b = km.Builder("built")
    b.link("one", None, km.Joint.revolute("y", name="j"), inertia=km.Inertia.sphere(1.0, 0.1))
    b.link("two", "one", km.Joint.revolute("y", name="k"), (0, 0, 1), inertia=km.Inertia.sphere(1.0, 0.1))
    return b


def receiver_of(one: Any, b: Bench) -> Any:
    """The object, class or module that a call is made on."""
    from tests.absurd_values import modules

    prefix = one.name.split(".")[0] + "."
    found = modules()
    module = found.get(prefix) if one.name.count(".") and prefix in found else found[""]
    if not one.owner:
        return module
    own = one.owner.removeprefix(prefix) if module is not found[""] else one.owner
    if one.owner.startswith("World."):  # a part of it
        return getattr(b.world, one.owner.removeprefix("World."))
    kind = getattr(module, own)
    import inspect

    static = inspect.getattr_static(kind, one.attribute)
    if isinstance(static, staticmethod | classmethod):
        return kind
    if one.owner in RECEIVERS:
        return RECEIVERS[one.owner](b)
    return copies.SAMPLES[one.owner]()


# ---------------------------------------------------------------------------------------------------------- arguments

Given = Callable[[Bench], dict[str, Any]]

# by the name of the argument, where the call says nothing else
USUAL: dict[str, Callable[[Bench], Any]] = {
    "model": lambda b: b.model, "data": lambda b: b.data, "q": lambda b: b.q, "v": lambda b: np.zeros(3),
    "tau": lambda b: np.ones(3), "state": lambda b: b.state, "q0": lambda b: b.q, "q1": lambda b: b.q,
    "gravity": lambda b: (0, 0, -9.0), "place": lambda b: "tip", "point": lambda b: (0.1, 0, 0), "name": lambda b: "one",
    "joint": lambda b: b.joint, "at": lambda b: (0, 0, 0.5), "shape": lambda b: b.box, "pose": lambda b: b.pose,
    "rng": lambda b: b.rng, "genotype": lambda b: b.genotype, "bvh": lambda b: b.bvh, "analysis": lambda b: b.analysis,
    "path": lambda b: "made.out", "mesh": lambda b: km.mesh_of(b.box), "recording": lambda b: b.recording,
    "world": lambda b: b.world, "seed": lambda b: 3, "draw": lambda b: evolve.Draw(0, 1), "store": lambda b: b.store,
    "settings": lambda b: creatures.Settings(), "task": lambda b: creatures.tasks.Locomotion(),
    "radius": lambda b: 0.2, "length": lambda b: 0.5, "mass": lambda b: 1.0, "position": lambda b: (0, 0, 1),
    "rotation": lambda b: np.eye(3), "workers": lambda b: 1,
}  # fmt: skip
Q2, V2 = (lambda b: np.tile(b.chain_q, (2, 1))), (lambda b: np.zeros((2, 8)))
FREE: Given = lambda b: {"model": b.chain, "data": b.chain_data, "q": b.chain_q, "v": np.zeros(8)}  # noqa: E731
BATCH: Given = lambda b: {"model": b.chain, "Q": Q2(b), "V": V2(b)}  # noqa: E731
PEER: Given = lambda b: {"q": b.chain_q, "v": np.zeros(8)}  # noqa: E731
SOLIDS: Given = lambda b: {"a": b.box, "pose_a": None, "b": b.ball, "pose_b": b.pose}  # noqa: E731

VALID: dict[str, Given] = {
    # ------------------------------------------------------------------------------------------------ models
    "Actuator": lambda b: {"name": "m", "joint": "j", "gain": 1.0, "bias": (0.0, 0.0, 0.0), "gear": (1.0,), "control": (-1.0, 1.0), "force": (-1.0, 1.0)},
    "Actuator.motor": lambda b: {"name": "m", "joint": "j"},
    "Actuator.position": lambda b: {"name": "m", "joint": "j", "stiffness": 1.0},
    "Actuator.velocity": lambda b: {"name": "m", "joint": "j", "damping": 1.0},
    "Builder": lambda b: {},
    "Builder.base": lambda b: {"shapes": [b.box]},
    "Builder.element": lambda b: {"element": km.ForceElement.spring("one", None, 10.0, 0.5)},
    "Builder.frame": lambda b: {"name": "tip", "link": "one"},
    "Builder.link": lambda b: {"name": "three", "parent": "two", "joint": b.joint, "inertia": km.Inertia.sphere(1.0, 0.1), "shapes": b.box},
    "Builder.loop": lambda b: {"a": "two", "b": None},
    "Builder.mimic": lambda b: {"joint": "k", "source": "j"},
    "ForceElement.bushing": lambda b: {"a": "one", "b": None, "stiffness": 3.0},
    "ForceElement.damper": lambda b: {"a": "one", "b": None, "damping": 3.0},
    "ForceElement.spring": lambda b: {"a": "one", "b": None, "stiffness": 3.0, "length": 0.5},
    "ForceElement.tension": lambda b: {"a": "one", "b": None, "force": 3.0},
    "Inertia": lambda b: {"mass": 1.0, "com": (0, 0, 0), "matrix": np.eye(3)},
    "Inertia.box": lambda b: {"size": (1, 1, 1)},
    "Inertia.rod": lambda b: {"start": (0, 0, 0), "end": (0, 0, 1)},
    "Inertia.__add__": lambda b: {"other": km.Inertia.sphere(1.0, 0.2)},
    "Joint": lambda b: {"kind": km.JointKind.REVOLUTE},
    "Joint.per_dof": lambda b: {"field": "damping"},
    "Joint.still": lambda b: {"moved": km.Inertia.sphere(1.0, 0.2)},
    "Model.with_dofs": lambda b: {"damping": 1.0},
    "Model.with_equipment": lambda b: {"apart": True},
    "Recording.add_body": lambda b: {"body": _drawn_body(b)},
    "Recording.add_poses": lambda b: {"t": 1.0, "rows": [0], "poses": np.array([[0.0, 0, 1, 1, 0, 0, 0]])},
    "Recording.add_chapter": lambda b: {"t": 1.0, "what": "cut", "parents": {"l1": None}},
    "viewer.viewer": lambda b: {"open_browser": False},
    "viewer.Viewer.mark": lambda b: {"name": "names"}, "viewer.Viewer.go_to": lambda b: {"step": 0},
    "viewer.Viewer.select": lambda b: {"id": b.world["box"].id}, "viewer.Viewer.ask": lambda b: {"what": print},
    "viewer.Viewer.first": lambda b: b.viewer.select(b.world["box"].id) or {},
    "viewer.Viewer.joints_of": lambda b: {"body": b.world["box"]}, "viewer.Viewer.sync": lambda b: {"until": 0.0},
    "evolve.Processes": lambda b: {"problem": Reach(), "workers": 1},
    "Keyframe": lambda b: {"control": (0.1,)},
    "Loop": lambda b: {"a": "one", "b": None},
    "Mimic": lambda b: {"joint": "a", "source": "b", "multiplier": 1.0, "offset": 0.0},
    "PairMaterial": lambda b: {"a": "a", "b": "b", "material": km.Material()},
    "Model.joint": lambda b: {"name": b.model.joint_names[0]},
    "Model.limits": lambda b: {"joint": 0}, "Model.q_slice": lambda b: {"joint": 0}, "Model.v_slice": lambda b: {"joint": 0},
    "Model.link": lambda b: {"name": "a"}, "Model.loop": lambda b: {"name": "pin"},
    "Model.with_elements": lambda b: {"elements": []},
    "Model.with_loops": lambda b: {"loops": []},
    "Pose.exp": lambda b: {"twist": np.ones(6)},
    "Pose.apply": lambda b: {"points": np.ones((2, 3))},
    "Pose.quaternion": lambda b: {"wxyz": (1, 0, 0, 0)},
    "Pose.rpy": lambda b: {"roll": 0.1, "pitch": 0.2, "yaw": 0.3},
    "Pose.turn": lambda b: {"axis": (0, 0, 1), "angle": 0.3},
    "Pose.__matmul__": lambda b: {"other": b.pose},
    "human": lambda b: {},
    # ---------------------------------------------------------------------------------------------- dynamics
    "rnea": lambda b: {"a": np.zeros(3)},
    "inverse_dynamics": lambda b: {"a": np.zeros(3)},
    "kinematics": lambda b: {"a": np.zeros(3), "v": np.zeros(3)},
    "loop_actuation": lambda b: {"tau_loops": np.zeros(1)},
    "actuator_forces": lambda b: {"model": driven_model(), "q": np.zeros(1), "v": np.zeros(1), "control": np.zeros(1)},
    "ltl": lambda b: {"M": km.crba(b.model, b.data, b.q)},
    "ltl_solve": lambda b: {"L": km.ltl(b.model, km.crba(b.model, b.data, b.q)), "b": np.ones(3)},
    "rollout": lambda b: {"steps": 3}, "step": lambda b: {"steps": 1},
    "rollout_adaptive": lambda b: {"times": [0.0, 0.01]},
    "simulate": lambda b: {"duration": 0.02}, "Simulation.run": lambda b: {"duration": 0.02},
    "passive_forces": lambda b: {"v": np.zeros(3)},
    "Event": lambda b: {"name": "e", "kind": km.EventKind.TIME, "level": 0.3},
    "Event.at": lambda b: {"time": 0.1},
    "Event.contact": lambda b: {"a": "box"}, "Event.impact": lambda b: {"a": "box"},
    "Event.distance": lambda b: {"a": "box", "b": "ball", "level": 0.5},
    "Event.force": lambda b: {"loop": "pin", "along": (0, 0, 1)},
    "Event.height": lambda b: {"place": "box"}, "Event.limit": lambda b: {"joint": "j0"},
    "Event.load": lambda b: {"joint": "j0", "level": 1.0}, "Event.position": lambda b: {"joint": "j0", "level": 1.0},
    "Event.sleep": lambda b: {"body": "box"}, "Event.velocity": lambda b: {"joint": "j0"},
    "Trajectory": lambda b: {"t": np.zeros(1), "q": np.zeros((1, 1)), "v": np.zeros((1, 1))},
    # --------------------------------------------------------------------------------------------- structure
    "connect": lambda b: {"model": b.chain, "state": b.chain_state, "a": "l1", "b": "free", "at": (0, 0, 0.5)},
    "cut": lambda b: {"model": b.chain, "state": b.chain_state, "joint": "hinge1"},
    "remove": lambda b: {"model": b.chain, "state": b.chain_state, "link": "l1"},
    "add": lambda b: {"other": b.other_model}, "submodel": lambda b: {"model": b.chain, "link": "l0"},
    "reroot": lambda b: {"model": b.chain, "state": b.chain_state, "link": "free", "joint": km.Joint.free()},
    "ModelEdit": lambda b: {"before": b.model},
    "Forest": lambda b: {},
    "Forest.add": lambda b: {"model": b.other_model},
    "Forest.connect": lambda b: {"a": b.bodies[0], "b": _free_body(b), "at": (0, 0, 0)},
    "Forest.cut": lambda b: {"joint": b.forest.joints.tolist()[-1]},
    "Forest.closes_loop": lambda b: {"joint": b.forest.joints.tolist()[0]},
    "Forest.has_body": lambda b: {"id": b.bodies[0]}, "Forest.has_joint": lambda b: {"id": 0},
    "Forest.joint_of": lambda b: {"body": b.bodies[0]}, "Forest.members": lambda b: {"tree": int(b.forest.trees[0])},
    "Forest.knock": lambda b: {"body": b.bodies[0], "push": (1, 0, 0), "turn": (0, 0, 0)},
    "Forest.pose": lambda b: {"body": b.bodies[0]}, "Forest.twist": lambda b: {"body": b.bodies[0]},
    "Forest.position": lambda b: {"joint": b.forest.joints.tolist()[-1]},
    "Forest.velocity": lambda b: {"joint": b.forest.joints.tolist()[-1]},
    "Forest.sides": lambda b: {"joint": b.forest.joints.tolist()[-1]},
    "Forest.remove": lambda b: {"body": b.bodies[-1]}, "Forest.reroot": lambda b: {"body": b.bodies[-1]},
    "Forest.set_state": lambda b: {"tree": int(b.forest.trees[0])}, "Forest.state": lambda b: {"tree": int(b.forest.trees[0])},
    "Forest.tie": lambda b: {"element": km.ForceElement.spring(None, None, 1.0, 1.0), "a": b.bodies[0], "b": b.bodies[1]},
    "Forest.tree_of": lambda b: {"body": b.bodies[0]}, "Forest.gravity=": lambda b: {"value": (0, 0, -1)},
    # ------------------------------------------------------------------------------------------------ worlds
    "World": lambda b: {},
    "World.gravity=": lambda b: {"value": (0, 0, -1)}, "World.threads=": lambda b: {"value": 1},
    "World.add": lambda b: {"what": b.ball, "at": (0, 0, 20)},
    "World.add_ground": lambda b: {"ground": km.HalfSpace((0, 0, 1), -50.0)},
    "World.surfaces.set_pair_material": lambda b: {"a": _shape(b, "box"), "b": _shape(b, "ball"), "material": km.Material(0.3)},
    "World.body": lambda b: {"id": b.world["box"].id},
    "World.queries.cast_ray": lambda b: {"origin": (0, 0, 9), "direction": (0, 0, -1)},
    "World.queries.cast_rays": lambda b: {"origins": np.zeros((2, 3)), "directions": np.ones((2, 3))},
    "World.connect": lambda b: {"a": b.world["a1"], "b": b.world["ball"], "at": (2, 0, 1)},
    "World.drives.couple": lambda b: {"joint": "j1", "source": "j0"},
    "World.cut": lambda b: {"joint": "j1"}, "World.drives.force": lambda b: {"joint": "j1", "force": 1.0},
    "World.every": lambda b: {"period": 0.1, "action": print}, "World.figure": lambda b: {"name": "arm"},
    "World.collision_filter.collide_with": lambda b: {"a": b.world["box"], "b": b.world["ball"]},
    "World.collision_filter.ignore": lambda b: {"a": b.world["box"], "b": b.world["ball"]},
    "World.sleep.is_asleep": lambda b: {"body": b.world["box"]}, "World.sleep.why_awake": lambda b: {"body": b.world["box"]},
    "World.sleep.wake": lambda b: {"body": b.world["box"]}, "World.joint_id": lambda b: {"joint": "j0"},
    "World.load": lambda b: {"data": base_world().save()}, "World.restore": lambda b: {"data": b.world.save()},
    "World.queries.loop_force": lambda b: {"joint": _closed(b)}, "World.queries.profile": lambda b: {"steps": 2},
    "World.motor": lambda b: {"joint": "j1"}, "World.servo": lambda b: {"joint": "j1", "stiffness": 1.0, "damping": 1.0},
    "World.queries.overlaps": lambda b: {"shape": b.ball}, "World.placement.place": lambda b: {"body": b.world["box"], "at": (0, 0, 3)},
    "World.apply_impulse": lambda b: {"body": b.world["box"], "impulse": (1, 0, 0)},
    "World.apply_force": lambda b: {"body": b.world["box"], "force": (1, 0, 0)},
    "World.record": lambda b: {"path": "run.journal"}, "World.rerun": lambda b: {"path": _journal()},
    "World.collision_filter.set_groups": lambda b: {"what": b.world["box"], "group": 2},
    "World.remove": lambda b: {"body": b.world["box"]}, "World.structure.remove_ground": lambda b: {"ground": b.world.add_ground(km.HalfSpace((0, 0, 1), -60.0))},
    "World.reroot": lambda b: {"body": b.world["box"]}, "World.run": lambda b: {"seconds": 0.01},
    "World.placement.set_joint": lambda b: {"joint": "j1", "position": [0.1]},
    "World.surfaces.set_material": lambda b: {"what": b.world["box"], "material": km.Material(0.4)},
    "World.step": lambda b: {"count": 2}, "World.brains.attach": lambda b: {"figure": b.figure, "brain": b.brain},
    "World.structure.tie": lambda b: {"element": km.ForceElement.spring(None, None, 1.0, 1.0), "a": b.world["box"], "b": None},
    "World.when": lambda b: {"event": km.Event.at(5.0)}, "World.__getitem__": lambda b: {"name": "box"},
    "World.__contains__": lambda b: {"name": "box"},
    **{f"World.queries.{name}": (lambda b: {"body": b.world["box"]}) for name in ("centre_of_mass", "joints_of", "link_frame", "tree_of")},
    "World.queries.loop_points": lambda b: {"joint": _closed(b)}, "BodyStates.row_of": lambda b: {"body": 0},
    "World.queries.energy": lambda b: {"what": b.world["box"]}, "World.queries.momentum": lambda b: {"what": b.world["box"]},
    "World.contacts": lambda b: {"body": b.world["box"]},
    "Body.angular_velocity=": lambda b: {"value": (0, 0, 1)}, "Body.pose=": lambda b: {"value": b.pose},
    "Body.position=": lambda b: {"value": (0, 0, 1)}, "Body.velocity=": lambda b: {"value": (0, 0, 1)},
    "Body.twist=": lambda b: {"value": np.ones(6)},
    "Controls.force": lambda b: {"name": "m"}, "Controls.__getitem__": lambda b: {"name": "m"},
    "Controls.__setitem__": lambda b: {"name": "m", "told": 0.5},
    **{f"{kind}.on": (lambda b: {"world": b.world}) for kind in ("Coupling", "JointForce", "Motor", "AppliedForce", "Servo", "BrainInstance")},
    "Figure.joint": lambda b: {"name": "j0"}, "Figure.position": lambda b: {"joint": "j0"},
    "Figure.velocity": lambda b: {"joint": "j0"}, "Figure.__getitem__": lambda b: {"name": "a0"},
    **{f"{kind}.effort_limit=": (lambda b: {"value": 2.0}) for kind in ("Motor", "Servo")},
    "AppliedForce.force=": lambda b: {"value": (1, 0, 0)}, "AppliedForce.torque=": lambda b: {"value": (1, 0, 0)},
    "BrainInstance.asleep=": lambda b: {"value": True}, "BrainInstance.blank=": lambda b: {"value": True},
    "BrainInstance.target=": lambda b: {"value": (1, 0, 0)},
    # -------------------------------------------------------------------------------------- shapes, collision
    "Shape": lambda b: {"kind": km.ShapeKind.BOX, "size": (1.0, 1.0, 1.0)}, "Shape.box": lambda b: {"size": (1, 1, 1)},
    "Shape.mesh": lambda b: {"path": files()["mesh"]},
    "Mesh": lambda b: {"vertices": np.eye(3), "faces": np.array([[0, 1, 2]], np.int32)},
    "Mesh.scaled": lambda b: {"scale": np.ones(3)}, "load_mesh": lambda b: {"path": files()["mesh"]},
    "MassProperties.with_mass": lambda b: {}, "MassProperties.__add__": lambda b: {"other": km.mass_properties(km.mesh_of(b.box))},
    "mass_properties": lambda b: {"body": km.mesh_of(b.box)}, "decompose": lambda b: {"body": km.mesh_of(b.box)},
    "Parts": lambda b: {"parts": [km.core_of(b.box)[0]]},
    "Polyhedron.box": lambda b: {"size": (1, 1, 1)}, "Polyhedron.hull": lambda b: {"points": _corners()},
    "Polyhedron.of_faces": lambda b: {"points": _corners(), "loops": _faces()},
    "Polyhedron.polygon": lambda b: {"points": [(0, 0, 0), (1, 0, 0), (0, 1, 0)]},
    "Polyhedron.scaled": lambda b: {"factor": 2.0},
    "Polyhedron.reshaped": lambda b: {"points": 2.0 * km.core_of(b.box)[0].vertices},
    "HalfSpace": lambda b: {}, "HeightField": lambda b: {"heights": np.zeros((3, 3)), "size": (2.0, 2.0)},
    "Pair": lambda b: {"a": b.box, "b": b.ball}, "Pair.distance": lambda b: {"pose_a": None, "pose_b": b.pose},
    "Pair.contacts": lambda b: {"pose_a": None, "pose_b": b.pose},
    "Pair.track": lambda b: {"contact": km.contacts(copies.BOX, None, copies.BALL, copies.NEAR)[0], "pose_a": None, "pose_b": copies.NEAR},
    "distance": SOLIDS, "contacts": SOLIDS,
    "cast": lambda b: {"origin": (0, 0, 5), "direction": (0, 0, -1)},
    "swept": lambda b: {"lows": np.zeros((2, 3)), "highs": np.ones((2, 3)), "moves": np.zeros((2, 3))},
    "BroadPhase.add": lambda b: {"low": (0, 0, 0), "high": (1, 1, 1)}, "BroadPhase.box": lambda b: {"id": 0},
    **{f"BroadPhase.{name}": (lambda b: {"a": 0, "b": 1}) for name in ("heed", "ignore", "ignored")},
    "BroadPhase.move": lambda b: {"id": 0, "low": (0, 0, 0), "high": (1, 1, 1)},
    "BroadPhase.regroup": lambda b: {"id": 0, "group": 1, "mask": 1}, "BroadPhase.remove": lambda b: {"id": 0},
    "BroadPhase.update": lambda b: {"lows": np.zeros((3, 3)), "highs": np.ones((3, 3))},
    "BroadPhase.__contains__": lambda b: {"id": 0},
    "BroadPhase.set_budgets": lambda b: {"tile_budget": 8, "fixed_budget": 64},
    "Collisions.update": lambda b: {"links": [km.Pose((0, 0, 0.4)), km.Pose((0.2, 0.1, 1.0))]},
    **{f"Collisions.{name}": (lambda b: {"a": 1, "b": 2}) for name in ("heed", "ignore")},
    "Collisions.contacts_of": lambda b: {"pair": _touching().pairs[0]},
    "ShapeTable.add": lambda b: {"solid": b.box}, "ShapeTable.body": lambda b: {"id": 1},
    **{f"ShapeTable.{name}": (lambda b: {"id": 1}) for name in ("link", "row_of", "__getitem__", "__contains__", "remove", "move")},
    "ShapeTable.regroup": lambda b: {"id": 1, "group": 1, "mask": 1}, "ShapeTable.id_at": lambda b: {"row": 1},
    # ------------------------------------------------------------------------------------------------- files
    "Bvh": lambda b: {"joints": b.bvh.joints, "frames": b.bvh.frames, "dt": 0.01},
    "Bvh.columns": lambda b: {"joint": 0}, "Bvh.joint": lambda b: {"name": b.bvh.joints[0].name},
    "Markers": lambda b: {"names": ("heel", "toe"), "positions": np.zeros((5, 2, 3)), "rate": 100.0},
    "Markers.marker": lambda b: {"name": "toe"},
    "load_bvh": lambda b: {"path": mocap_files()["bvh"]}, "load_c3d": lambda b: {"path": files()["c3d"]},
    **{f"load_{kind}": (lambda b, kind=kind: {"path": files()[kind]}) for kind in ("mjcf", "sdf", "urdf", "scene", "table")},
    "load_trajectory": lambda b: {"model": b.chain, "path": files()["trajectory"]},
    "parse_bvh": lambda b: {"text": mocap_files()["bvh"].read_text()},
    **{f"parse_{kind}": (lambda b, kind=kind: {"text": files()[kind].read_text()}) for kind in ("mjcf", "sdf", "urdf")},
    "save_c3d": lambda b: {"markers": copies.markers(), "path": "made.c3d"},
    "save_bvh": lambda b: {"path": "made.bvh"}, "save_glb": lambda b: {"path": "made.glb"},
    **{f"save_{kind}": (lambda b, kind=kind: {"model": tree_model(), "path": f"made.{kind}"}) for kind in ("mjcf", "sdf", "urdf")},
    "save_table": lambda b: {"path": "made.csv", "columns": {"t": np.zeros(3)}},
    "save_trajectory": lambda b: {"model": b.chain, "trajectory": km.rollout(b.chain, b.chain_data, b.chain_q, np.zeros(8), steps=2), "path": "made.csv"},
    "from_mujoco": lambda b: {"peer": _mujoco()}, "Scene": lambda b: {"path": files()["scene"]},
    "Scene.run": lambda b: {"seconds": 0.02},
    # ------------------------------------------------------------------------------------------------ seeing
    "animate": lambda b: {"file": "made.gif", "size": (64, 48)},
    "picture": lambda b: {"model": tree_model(), "q": [0.1, 0.2], "size": (64, 48)},
    "replay": lambda b: {"file": "made.html"}, "film": lambda b: {},
    "view": lambda b: {}, "viewer": lambda b: {"open_browser": False},
    "Recording": lambda b: {}, "Recording.add": lambda b: {"model": tree_model(), "state": [0.1, 0.2], "t": 0.4},
    "Recording.chapter": lambda b: {"t": 0.5, "what": "cut"}, "Recording.from_log": lambda b: {"log": copies.log()},
    "Recording.from_trajectory": lambda b: {"model": b.chain, "trajectory": km.rollout(b.chain, b.chain_data, b.chain_q, np.zeros(8), steps=2)},
    "Recording.load": lambda b: {"path": files()["film"]}, "Recording.save": lambda b: {"path": "made.npz"},
    "Recording.row": lambda b: {"name": b.recording.bodies[0].name},
    # ----------------------------------------------------------------------------------------------- modules
    "batch.aba": lambda b: BATCH(b) | {"TAU": V2(b)}, "batch.rnea": lambda b: BATCH(b) | {"A": V2(b)},
    "batch.crba": lambda b: {"model": b.chain, "Q": Q2(b)}, "batch.step": BATCH,
    "batch.rollout": lambda b: BATCH(b) | {"steps": 3}, "batch.linearize": BATCH,
    "batch.run": lambda b: {"worlds": [b.world], "seconds": 0.01, "workers": 1},
    "convert.pybullet": lambda b: {"model": b.chain}, "convert.drake": lambda b: {"model": b.chain},
    "convert.mujoco": lambda b: {"model": b.chain}, "convert.pinocchio": lambda b: {"model": b.chain},
    **{f"convert.Peer.{name}": PEER for name in ("v", "v_back")},
    **{f"convert.Peer.{name}": (lambda b: {"q": b.chain_q}) for name in ("q", "q_back")},
    **{f"convert.Peer.{name}": (lambda b: PEER(b) | {"a": np.zeros(8)}) for name in ("a", "a_back")},
    **{f"convert.Peer.{name}": (lambda b: {"q": b.chain_q, "tau": np.zeros(8)}) for name in ("tau", "tau_back")},
    "brain.Brain": lambda b: {"neurons": [km.brain.Neuron(km.brain.Function.WAVE, (1, 0, 1))]},
    "brain.Brain.respond": lambda b: {"sensed": np.zeros((3, 0))},
    "brain.Effect": lambda b: {"what": km.brain.Acted.TORQUE, "link": "a1"},
    "brain.Neuron": lambda b: {"function": km.brain.Function.WAVE},
    "brain.Sense": lambda b: {"what": next(iter(km.brain.Sensed)), "link": "a1"},
    "World.step_recording.begin_recording": lambda b: {"kind": "episode statistics", "settings": {}},
    "creatures.begin_statistics": lambda b: {"world": b.world}, "creatures.EpisodeStatistics": lambda b: {"world": _recorded(b)[0].world},
    **{f"creatures.EpisodeStatistics.{name}": (lambda b: {"brain": _recorded(b)[1]}) for name in ("of", "row")},
    "creatures.alike": lambda b: {"one": b.phenotype, "other": b.phenotype},
    "creatures.audit": lambda b: {"task": _short()}, "creatures.evaluate": lambda b: {"task": _short()},
    **{f"creatures.{name}": (lambda b: {"a": b.genotype, "b": b.genotype}) for name in ("crossover", "crossover_within", "graft")},
    "creatures.handmade": lambda b: {"name": "quadruped"}, "creatures.load_genotype": lambda b: {"path": files()["genotype"]},
    "creatures.save_genotype": lambda b: {"path": "made.json"}, "creatures.founder": lambda b: {"seed": 1},
    "creatures.Genotype": lambda b: {"nodes": b.genotype.nodes},
    "creatures.Genotype.from_json": lambda b: {"text": b.genotype.to_json()},
    "creatures.Rates.of": lambda b: {"kind": creatures.Node, "member": "size"},
    "creatures.Routes": lambda b: {"oscillator": 1.0, "direction": 1.0, "product": 1.0},
    "creatures.Settings.striding": lambda b: {"stride": 1.0},
    "creatures.Score": lambda b: {"value": 1.0}, "creatures.Connection": lambda b: {"parent": 0, "child": 0},
    "evolve.begin": lambda b: {"file": _new_file(), "settings": b.settings},
    "evolve.best_first": lambda b: {"individuals": [b.individual]},
    "evolve.creatures": lambda b: {"table": {}, "name": "locomotion", "search": "default"},
    "evolve.evolve": lambda b: {"settings": b.settings, "watch": lambda progress: None},
    "evolve.held_out": lambda b: {"seed": 1, "number": 3}, "evolve.load_settings": lambda b: {"file": files()["settings"]},
    "evolve.rescore": lambda b: {"store": _run(), "draws": 1},
    "evolve.resume": lambda b: {"file": _run_file()},
    "evolve.Individual": lambda b: {"number": 0, "generation": 0, "genotype": "[]"},
    "evolve.Individual.job": lambda b: {"generation": 0, "draws": (evolve.Draw(0, 1),)},
    "evolve.Individual.fitness": lambda b: {}, "evolve.Individual.scores": lambda b: {},
    "evolve.Recipe": lambda b: {"problem": Reach(), "seed": 1, "budget": evolve.Budget(generations=2)},
    "evolve.Recipe.tell": lambda b: {"result": _asked(b)},
    "evolve.Serial": lambda b: {"problem": Reach()}, "evolve.Serial.submit": lambda b: {"jobs": [b.job]},
    "evolve.Species": lambda b: {}, "evolve.Species.advice": lambda b: {"search": "default"},
    **{f"evolve.Species.{name}": (lambda b: {"genotype": b.genotype.line()}) for name in ("mutate", "numbers", "viable")},
    **{f"evolve.Species.{name}": (lambda b: {"genotype": b.genotype.line(), "draw": evolve.Draw(0, 1)}) for name in ("evaluate", "judged")},
    **{f"evolve.Species.{name}": (lambda b: {"one": b.genotype.line(), "other": b.genotype.line()}) for name in ("crossover", "graft")},
    "evolve.Species.with_numbers": lambda b: {"genotype": b.genotype.line(), "numbers": b.species.numbers(b.genotype.line())},
    "evolve.Store.create": lambda b: {"file": _new_file(), "facts": _facts(b)}, "evolve.Store.golden_hash": lambda b: {}, "evolve.Store.open": lambda b: {"file": _run_file()},
    "evolve.Store.genotype": lambda b: {"generation": 0, "rank": 0}, "evolve.Store.known": lambda b: {"job": b.job},
    "evolve.Store.keep": lambda b: {"job": b.job, "result": b.result}, "evolve.Store.note": lambda b: {"name": "n", "value": 1},
    "evolve.Store.complete": lambda b: {"generation": 0, "population": [], "stats": {}},
    "evolve.Store.standings": lambda b: {}, "evolve.Store.details": lambda b: {"below": 3},
    "evolve.Store.fact": lambda b: {"name": "seed", "kind": Any, "usual": None}, "evolve.Store.table": lambda b: {"name": "individual"},
    "evolve.Descriptor": lambda b: {"name": "n", "low": 0.0, "high": 1.0, "cells": 3},
    "evolve.RecipeSettings.within": lambda b: {"budget": evolve.Budget(generations=2)},
    "evolve.Draw": lambda b: {"number": 0}, "evolve.Settings": lambda b: {"task": "locomotion"},
    "mocap.analyse": lambda b: {"source": b.bvh, "methods": ("smooth",)}, "mocap.body_of": lambda b: {},
    "mocap.bvh_of": lambda b: {"model": b.analysis.body.model, "q": b.analysis.body.q, "dt": 0.01},
    "mocap.calibrate_hips": lambda b: {"*": (whole_walk(),)}, "mocap.walking_of": lambda b: {"*": (whole_walk(),)},
    "mocap.find_contacts": lambda b: {"points": _points(), "dt": 0.01}, "mocap.match": lambda b: {},
    "mocap.norms": lambda b: {"pace": "natural"}, "mocap.pace_of": lambda b: {"speed": 1.2, "leg": 0.9},
    "mocap.plot": lambda b: {"path": "made.png"}, "mocap.plot_stances": lambda b: {"path": "made.png"},
    "mocap.replay": lambda b: {"path": "made.html"}, "mocap.save": lambda b: {"path": "made.csv"},
    "mocap.read_contacts": lambda b: {"path": _contacts_file(), "found": b.analysis.contacts, "t": b.analysis.t},
    **{f"mocap.{name}": (lambda b: {"model": b.analysis.body.model, "q": b.analysis.body.q, "dt": b.analysis.body.dt}) for name in ("residuals", "smooth")},
    "mocap.synthetic_walk": lambda b: {"seconds": 0.5}, "mocap.table_of": lambda b: {},
    **{f"mocap.Analysis.{name}": (lambda b: {"joint": _knee(b)}) for name in ("band", "moment", "power")},
    **{f"mocap.Analysis.{name}": (lambda b: {"side": "left"}) for name in ("force", "pressure")},
    **{f"mocap.Analysis.{name}": (lambda b: {"side": "left", "bone": "shank"}) for name in ("extension", "flexion")},
    "mocap.Body.lengths": lambda b: {"side": "left"}, "mocap.Contacts.floor": lambda b: {"x": np.zeros(3)},
    "mocap.Contacts.stances": lambda b: {"reliable": np.ones(len(b.analysis.t), bool)},
    "mocap.Table.share": lambda b: {"name": "thigh"}, "mocap.Walking.norm": lambda b: {"name": next(iter(mocap.norms("natural")))},
    # -------------------------------------------------------------------------------------------------- gym
    "gym.WorldEnv": lambda b: {}, "gym.WorldEnv.step": lambda b: {"action": np.zeros(6)},
    "gym.WorldVectorEnv": lambda b: {"num_envs": 2}, "gym.WorldVectorEnv.step": lambda b: {"actions": np.zeros((2, 6))},
    "gym.Reading": lambda b: {"names": ["a0.x"]},
    **{f"gym.{name}.{way}": (lambda b, name=name: {"world": _task_world(b, name), "action": np.zeros(len(getattr(_gym(), name).actions))}) for name in GYM_TASKS for way in ("act", "reward")},
    **{f"gym.{name}.{way}": (lambda b, name=name: {"world": _task_world(b, name)}) for name in GYM_TASKS for way in ("over", "succeeded", "dropped", "height")},
    **{f"gym.{name}.begin": (lambda b, name=name: {"world": _task_world(b, name, begun=False)}) for name in GYM_TASKS},
    **{f"gym.HandOver.{way}": (lambda b: {"world": _task_world(b, "HandOver"), "side": "left"}) for way in ("grip", "hand", "holds")},
    # -------------------------------------------------------------------------------------- tasks and searches
    **{f"tasks.{name}.{way}": (lambda b, name=name: {"stage": staged(name)}) for name in TASKS for way in ("mark", "place", "reach", "rest_gap")},
    **{f"tasks.{name}.begin": (lambda b, name=name: {"stage": staged(name, begun=False)}) for name in TASKS},
    **{f"tasks.{name}.prepare": (lambda b, name=name: {"stage": _unprepared(name)}) for name in TASKS},
    "tasks.Stage": lambda b: {"task": creatures.tasks.Swim(), "phenotype": b.phenotype, "seed": 1},
    "tasks.Stage.add_ball": lambda b: {"at": (0, 0, 9)}, "tasks.Stage.knocks": lambda b: {"count": 2},
    "tasks.Stage.stop_when": lambda b: {"event": b.event},
    "evolve.Recipe.bank": lambda b: {"size": 2, "epoch": 0}, "evolve.Recipe.draw": lambda b: {"number": 0, "epoch": 0},
    "evolve.Recipe.born": lambda b: {"genotype": b.job.genotype, "parents": [b.individual], "operator": "adjust"},
    **{f"evolve.Recipe.{way}": (lambda b: {"population": [b.individual]}) for way in ("close", "parents")},
    **{f"evolve.Recipe.{way}": (lambda b: {"one": b.individual}) for way in ("formula", "rank", "worth")},
    **{f"evolve.Recipe.{way}": (lambda b: {"individuals": [b.individual]}) for way in ("ranked", "survivors")},
    "evolve.Recipe.child": lambda b: {"parents": [b.individual, b.individual]},
    "evolve.Recipe.recombined": lambda b: {"parents": [b.individual, b.individual], "mutation": 0.5, "crossover": 0.3},
    "evolve.Recipe.value": lambda b: {"scores": [0.5, 0.6]},
    "evolve.Processes.submit": lambda b: {"jobs": [b.job]},
    "Recording.add_frames": lambda b: {"frames": [], "chapters": []}, "Recording.take_frames": lambda b: {},
}  # fmt: skip


def staged(name: str, begun: bool = True) -> Any:
    """A creature that has settled and, if the task has begun, lived for a moment."""
    task = getattr(creatures.tasks, name)(seconds=0.05, patience=0.0)
    grown = creatures.develop(creatures.handmade("hand" if task.grasps else "quadruped"), task.grown())
    stage = creatures.tasks.Stage(task, grown, 1)
    stage.settle()
    if begun:
        stage.live()
    return stage


def _task_world(b: Bench, name: str, begun: bool = True) -> km.World:
    """The world of the gymnasium task that is called, at the start of an episode."""
    if "task world" not in b.__dict__:
        task = b.__dict__.setdefault("gym task", getattr(_gym(), name)())
        world = b.__dict__["task world"] = task.world()
        if begun:
            task.begin(world, b.rng)
    return b.__dict__["task world"]


def _unprepared(name: str) -> Any:
    """A stage without what tasks put into its world first."""
    stage = staged(name, begun=False)
    stage.world = km.World()
    return stage


@cache
def driven_model() -> km.Model:
    builder = km.Builder("driven")
    builder.link("d0", None, km.Joint.revolute("y", name="d"), inertia=km.Inertia.sphere(1.0, 0.2))
    return builder.build().with_equipment(actuators=(km.Actuator.motor("m", "d"),))


def _touching() -> km.Collisions:
    made = copies.collisions()
    made.update([km.Pose((0, 0, 0.4)), km.Pose((0.2, 0.1, 1.0))])
    return made


def _drawn_body(b: Bench) -> Any:
    from kinemorph.view.recordings.recording import Body

    return Body("drawn", (b.ball,))


def _free_body(b: Bench) -> int:
    planted = b.forest.add(copies._builder().build())
    return int(planted.bodies[0])


def _shape(b: Bench, name: str) -> int:
    link = b.world[name].id & 0xFFFFFFFF
    rows = b.world.shapes.rows
    return next(id for id in b.world.shapes.ids if int(rows[b.world.shapes.row_of(id)]["link"]) == link)


def _recorded(b: Bench) -> tuple[creatures.EpisodeStatistics, km.BrainInstance]:
    brain = next(iter(b.world.brains), None) or b.world.brains.attach(b.figure, b.brain)
    return creatures.begin_statistics(b.world), brain


def _closed(b: Bench) -> Any:
    made = b.world.connect(b.world["box"], b.world["ball"], km.Joint.revolute("y"), (1, 0, 1))
    return b.world.connect(None, b.world["ball"], km.Joint.spherical(), (2, 0, 1), how="loop") or made


@cache
def _journal() -> str:
    made, path = base_world().branch(), str(Path(tempfile.mkdtemp()) / "whole.journal")
    with made.record(path):
        made.step(3)
    return path


def _corners() -> np.ndarray:
    return np.array([(x, y, z) for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])


def _faces() -> list[list[int]]:
    return [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]


@cache
def _mujoco() -> Any:
    import mujoco

    return mujoco.MjModel.from_xml_string(files()["mjcf"].read_text())


@cache
def _short() -> Any:
    return (
        creatures.tasks.Locomotion(seconds=0.2)
        if "seconds" in getattr(creatures.tasks.Locomotion, "__dataclass_fields__", {})
        else creatures.tasks.Locomotion()
    )


NEXT = [0]


def _new_file() -> str:
    NEXT[0] += 1
    return f"new{NEXT[0]}.db"


@cache
def _run_file() -> str:
    b = Bench()
    store = evolve.begin("whole.db", b.settings)
    evolve.evolve(store, b.settings)
    store.close()
    return "whole.db"


def _run() -> Any:
    return evolve.Store.open(_run_file())


def _facts(b: Bench) -> dict[str, Any]:
    from kinemorph.evolve.experiment import facts, problem_of

    return facts(b.settings, problem_of(b.settings))


def _asked(b: Bench) -> Any:
    job = b.search.ask()[0]
    outcomes = tuple(Reach().evaluate(job.genotype, draw) for draw in job.draws)
    return evolve.Result(job.generation, job.individual, job.draws, outcomes)


def _points() -> dict[str, Any]:
    ground = np.zeros((60, 3))
    return {side: (ground, ground) for side in ("left", "right")}


@cache
def _contacts_file() -> str:
    Path("contacts.csv").write_text("left,0.0,0.1\nright,0.1,0.2\n")
    return "contacts.csv"


def _knee(b: Bench) -> str:
    return next(name for name in b.analysis.body.model.joint_names if "shank" in name or "knee" in name)


# what the package makes and hands out: nobody constructs it, and its fields are its own
RESULTS = {
    "Actuation", "Body", "BodyStates", "Edit", "Contact", "Controls", "Coordinates", "Coupling", "Distance", "Energy", "Fault",
    "Figure", "SurfacePoint", "JointForce", "Journal", "Log", "MassProperties", "BrainInstance", "EventRecord", "Motor", "AddedModel", "Polyhedron",
    "AppliedForce", "ModelEdit", "Servo", "RayHit", "Statistics", "Timer", "ContactPoint", "Trajectory", "EventMonitor", "ForceElement", "Ground", "Model",
    "convert.Peer", "creatures.Audit", "creatures.Score", "creatures.Part", "evolve.Progress", "evolve.Rescored", "evolve.Store",
    "mocap.Analysis", "mocap.Body", "mocap.Contacts", "mocap.Foot", "mocap.Loads", "mocap.Motion", "mocap.Norm",
    "mocap.Residuals", "mocap.Segment", "mocap.Skeleton", "mocap.Table", "mocap.Walking", "evolve.Outcome", "evolve.Result",
    "evolve.Job", "evolve.Individual", "tasks.Marks",
}  # fmt: skip
# what is not called, and why
NOT_CALLED: dict[str, tuple[str, ...]] = {
    "it waits for a browser; viewer, which makes the same, is called instead": ("view", "viewer.view", "viewer.Viewer"),
    "it makes an object of parts that the package has checked, without checking them again": (
        "BroadPhase.of", "Collisions.of", "Inertia.unchecked", "Model.known", "Polyhedron.reshaped", "Pose.known",
        "Shape.known", "brain.Brain.known", "Parts.single",
    ),
    "a table of the package: the rows that go in, or the order of rows, are those of a caller that holds the table": (
        "BroadPhase.follow_order", "BroadPhase.set_order", "BroadPhase.take_out", "BroadPhase.make_room",
        "BroadPhase.grow", "Collisions.lend", "Collisions.expect", "Collisions.grow", "ShapeTable.add_all",
        "ShapeTable.write", "Forest.fill_poses", "Recording.take_frames",
    ),
    "a context of kernels, which gives out the address of rows": ("Data.claimed", "Data.pushed_by", "Forest.claimed", "Forest.sums"),
    "a journal is told of this by the world that it follows": ("Journal.due", "Journal.heard", "Journal.look", "Journal.saw"),
    "handles of drives and brains call it, with what they have checked": (
        "World.brains.set_grasp", "World.brains.set_instance", "World.drives.set_numbers", "World.drives.withdraw",
        "World.queries.link_of", "World.step_recording.call",
    ),
    "it checks or measures a joint for a builder, which names the link in its error": ("Joint.check", "Joint.still", "Joint.per_dof"),
    "a run calls it, with what its search and its evaluator hand over": (
        "evolve.Store.complete", "evolve.Store.keep", "evolve.Store.note", "evolve.Store.known", "evolve.Recipe.plan",
        "evolve.Recipe.value", "evolve.Recipe.worth", "evolve.Recipe.born", "evolve.Recipe.child", "evolve.Recipe.close",
        "evolve.Recipe.parents", "evolve.Recipe.recombined",
    ),
    "a protocol or an abstract class: users write it, the package calls it": (
        "evolve.Planned.", "evolve.Problem.", "evolve.Search.", "evolve.Evaluator.", "gym.Task.", "tasks.Task", "tasks.Task.",
        "creatures.Gene",
    ),
}  # fmt: skip
INNER = {name for names in NOT_CALLED.values() for name in names if name[-1] != "."}
ABSTRACT = tuple(name for names in NOT_CALLED.values() for name in names if name[-1] == ".")


class _Skipped:
    """Names that are not called."""

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in RESULTS or name in INNER or name.startswith(ABSTRACT))


SKIPPED = _Skipped()


# what is taken by name as `**more`, and handed on
JOINTS = (
    "lower",
    "upper",
    "velocity_limit",
    "effort_limit",
    "damping",
    "stiffness",
    "friction",
    "armature",
    "rest",
    "name",
)
EVENTS = ("name", "direction", "only", "ends", "times", "later")
SHAPES = ("role", "colour", "name", "material", "group", "mask")
EQUIPMENT = ("floors", "exclusions", "pair_materials", "actuators", "keyframes", "apart")
FORWARDED: dict[str, tuple[str, ...]] = {
    **{f"Joint.{name}": JOINTS for name in ("cylindrical", "fixed", "free", "planar", "prismatic", "revolute", "screw", "spherical", "universal")},
    **{f"Event.{name}": EVENTS for name in ("at", "contact", "distance", "force", "height", "impact", "limit", "load", "position", "sleep", "velocity")},
    **{f"Shape.{name}": SHAPES for name in ("box", "capsule", "cone", "cylinder", "mesh", "sphere")},
    **{f"Actuator.{name}": ("control", "force") for name in ("motor", "position", "velocity")},
    "Model.with_dofs": ("lower", "damping", "armature", "link"), "Model.with_equipment": EQUIPMENT,
    "evolve.Species.judged": ("blank", "motors"),
}  # fmt: skip


def arguments_of(one: Any) -> tuple[str, ...]:
    """Arguments that are given absurd values."""
    inner = {"kind"} if one.name == "evolve.Store.fact" else {"tables"}  # of the package itself: copies begin with them
    if one.name.startswith("gym.") and one.attribute in ("act", "reward"):
        inner = {"action"}  # environments cut it to numbers from -1 to 1
    more = tuple(name for name in FORWARDED.get(one.name, ()) if name not in one.arguments)
    return (*(name for name in one.arguments if name not in inner), *more)


def kwargs_of(one: Any, b: Bench) -> dict[str, Any]:
    """The arguments of a valid call."""
    import inspect

    given = VALID[one.name](b) if one.name in VALID else {}
    if one.kind == "setter" or "*" in given:
        return given
    receiver = receiver_of(one, b) if not one.owner else None
    found = getattr(receiver, one.attribute) if receiver is not None else None
    if found is None:
        found = getattr(_class_of(one), one.attribute)
    for parameter in inspect.signature(found).parameters.values():
        needed = parameter.default is parameter.empty and parameter.kind not in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        )
        if needed and parameter.name not in given and parameter.name in one.arguments:
            if parameter.name not in USUAL:
                raise LookupError(f"tests/valid_calls.py: no valid {parameter.name!r} for {one.name}")
            given[parameter.name] = USUAL[parameter.name](b)
    return given


def _class_of(one: Any) -> Any:
    from tests.absurd_values import modules

    prefix = one.name.split(".")[0] + "."
    found = modules()
    if prefix in found:
        return getattr(found[prefix], one.owner.removeprefix(prefix))
    kind = found[""]
    for name in one.owner.split("."):
        kind = getattr(kind, name)
    return kind if isinstance(kind, type) else kind.kind  # that of a part of a world


# ------------------------------------------------------------------------------------------------- before and after

PICKLED = ("Builder", "Forest", "ShapeTable", "Recording")  # tables of others remember what they have looked up


def state_of(receiver: Any, b: Bench) -> str:
    """All that a refusal must leave as it was."""
    said = ""
    if "world" in b.__dict__:
        said += b.world.hash()
    if type(receiver).__name__ in PICKLED:
        said += hashlib.sha256(pickle.dumps(receiver)).hexdigest()
    return said


def used(one: Any, receiver: Any, result: Any, b: Bench) -> str:
    """What is wrong with something that was accepted, once it is used: "" if nothing is."""
    from tests.absurd_values import judge

    try:
        with np.errstate(all="ignore"):
            if "world" in b.__dict__:
                b.world.step(2)
            use = USES.get(type(result).__name__)
            if use:
                use(result, b)
    except Exception as error:
        wrong = judge(error, one.name, "", None, receiver)
        return (
            f"accepted, and later {wrong}"
            if wrong and "names neither" not in wrong and "later warning" not in wrong
            else ""
        )
    return ""


def _link(joint: km.Joint, inertia: km.Inertia, shapes: Any = ()) -> None:
    b = km.Builder("use")
    b.link("one", None, joint, inertia=inertia, shapes=shapes)
    model = b.build()
    km.aba(model, km.Data(model), km.neutral(model), np.zeros(model.nv), np.zeros(model.nv))


def _model(model: km.Model) -> None:
    km.forward_dynamics(model, km.Data(model), km.neutral(model), np.zeros(model.nv), np.zeros(model.nv))


def _waited(event: km.Event, b: Bench) -> None:
    b.world.when(event)
    b.world.step(2)


USES: dict[str, Callable[[Any, Bench], Any]] = {
    "Shape": lambda shape, b: stranger_world().branch().add(shape, mass=1.0),
    "Polyhedron": lambda shape, b: stranger_world().branch().add(shape, mass=1.0),
    "Parts": lambda shape, b: stranger_world().branch().add(shape, mass=1.0),
    "Joint": lambda joint, b: _link(joint, km.Inertia.sphere(1.0, 0.2)),
    "Inertia": lambda inertia, b: _link(b.joint, inertia),
    "Material": lambda material, b: b.world.add(b.ball, (0, 0, 30), material=material),
    "Model": lambda model, b: _model(model),
    "ModelEdit": lambda report, b: _model(report.model),
    "Event": _waited,
    "Loop": lambda loop, b: chain().with_loops([loop]),
    "ForceElement": lambda element, b: chain().with_elements([element]),
    "Actuator": lambda one, b: driven_model().with_equipment(actuators=(one,)),
    "Brain": lambda brain, b: b.world.brains.attach(b.figure, brain),
    "World": lambda world, b: world.step(2),
    "HalfSpace": lambda ground, b: b.world.add_ground(ground),
    "HeightField": lambda ground, b: b.world.add_ground(ground),
    "Terrain": lambda ground, b: b.world.add_ground(ground),
    "Mesh": lambda mesh, b: km.mesh_faults(mesh),
    "Markers": lambda markers, b: km.save_c3d(markers, "used.c3d"),
    "Forest": lambda forest, b: forest.add(copies.pendulum()),
    "BroadPhase": lambda broad, b: broad.add((0, 0, 0), (1, 1, 1)),
    "Collisions": lambda table, b: table.update([]),
    "ShapeTable": lambda table, b: table.add(b.box),
    "Simulation": lambda run, b: run.run(0.01),
    "Peer": lambda peer, b: peer.q(b.chain_q),
}
