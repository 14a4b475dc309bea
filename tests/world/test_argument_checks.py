"""What users give: each argument that is wrong is one sentence, and the world is as it was."""

import math
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import kinemorph as km

NOTHING = [b"x", {}, object(), 1j, np.array("x"), km.World, np.zeros((2, 2)), [[1, 2], [3]]]  # is right nowhere
VECTORS = [*NOTHING, None, "x", 1.0, (1, 2), (math.nan, 0, 0), ("a", "b", "c"), (None,) * 3, np.full(3, np.nan)]
NUMBERS = [*NOTHING, None, "x", (1, 2), [], math.nan, 10**400, True]
HANDLES = [*NOTHING, "x", (1, 2), [], math.nan, math.inf, -1, 2.5, True, 1 << 40, 1 << 70]
THINGS = [*NOTHING, "x", 1, 2.5, (1, 2), [1]]
WHOLE = [*NUMBERS, math.inf, -1, 2.5, 1 << 70]


def arm() -> km.Model:
    b = km.Builder("arm")
    rod = km.Inertia.box(1.0, (0.05, 0.05, 0.3), (0, 0, -0.15))
    b.link("upper", None, km.Joint.revolute("y", name="shoulder", lower=-2, upper=2), (3, 0, 1), rod)
    b.link("lower", "upper", km.Joint.revolute("y", name="elbow"), (0, 0, -0.3), rod)
    return b.build()


class Scene:
    """A bit of everything."""

    def __init__(self) -> None:
        self.world = world = km.World()
        self.ground = world.add_ground()
        self.boxes = [world.add(km.Shape.box((0.2,) * 3), at=(0.5 * i, 0, 0.1), name=f"box {i}") for i in range(3)]
        self.arm = world.add(arm())
        self.grip = world.connect(*self.boxes[:2], km.Joint.spherical(name="grip"), at=(0.25, 0, 0.1))
        self.loop = world.connect(None, self.boxes[1], km.Joint.spherical(), how="loop")
        self.servo = world.servo(self.arm.joint("elbow"), 0.1, stiffness=1.0, damping=1.0)
        self.push = world.apply_force(self.boxes[0])
        world.run(0.02)


BALL, MATERIAL, UP = km.Shape.sphere(0.1), km.Material(), (0, 0, 1)
CALLS = {
    "gravity": (VECTORS, lambda s, x: setattr(s.world, "gravity", x)),
    "momentum": (VECTORS, lambda s, x: s.world.queries.momentum(about=x)),
    "add": (THINGS, lambda s, x: s.world.add(x)),
    "add at": (VECTORS, lambda s, x: s.world.add(BALL, at=x)),
    "add twist": ([*VECTORS[:-8], UP], lambda s, x: s.world.add(BALL, twist=x)),
    "add density": ([*NUMBERS[9:], 0.0, -1.0], lambda s, x: s.world.add(BALL, density=x)),
    "add mass": ([*NUMBERS[9:], 0.0, -1.0], lambda s, x: s.world.add(BALL, mass=x)),
    "add material": (THINGS, lambda s, x: s.world.add(BALL, material=x)),
    "add name": ([*NOTHING, 5], lambda s, x: s.world.add(BALL, name=x)),
    "add group": (WHOLE, lambda s, x: s.world.add(km.Shape.sphere(0.1, group=x))),
    "add colour": ([*NOTHING, "x", (1, 2, 3)], lambda s, x: s.world.add(km.Shape.sphere(0.1, colour=x))),
    "add pose": (THINGS, lambda s, x: s.world.add(km.Shape.sphere(0.1, x))),
    "add q": ([*NOTHING, "x", (1,), (math.nan, 0)], lambda s, x: s.world.add(arm(), q=x)),
    "place": (HANDLES, lambda s, x: s.world.placement.place(x, (0, 0, 1))),
    "place at": ([x for x in VECTORS if x is not None], lambda s, x: s.world.placement.place(s.boxes[2], x)),
    "place twist": ([x for x in VECTORS if x is not None], lambda s, x: s.world.placement.place(s.boxes[2], twist=x)),
    "pose": (THINGS, lambda s, x: setattr(s.boxes[2], "pose", x)),
    "position": (VECTORS, lambda s, x: setattr(s.boxes[2], "position", x)),
    "velocity": (VECTORS, lambda s, x: setattr(s.boxes[2], "velocity", x)),
    "set_joint": (HANDLES, lambda s, x: s.world.placement.set_joint(x, 0.1)),
    "set_joint position": ([*NOTHING, "x", (1, 2), [], math.nan], lambda s, x: s.world.placement.set_joint("elbow", x)),
    "set_joint velocity": (
        [*NOTHING, "x", (1, 2), [], math.nan],
        lambda s, x: s.world.placement.set_joint("elbow", 0.0, x),
    ),
    "remove_ground": (HANDLES, lambda s, x: s.world.structure.remove_ground(x)),
    "connect a": (HANDLES, lambda s, x: s.world.connect(x, s.boxes[2], km.Joint.fixed())),
    "connect joint": (THINGS, lambda s, x: s.world.connect(s.boxes[0], s.boxes[2], x)),
    "connect how": (THINGS, lambda s, x: s.world.connect(s.boxes[0], s.boxes[2], km.Joint.fixed(), None, x)),
    "remove": ([*HANDLES, None], lambda s, x: s.world.remove(x)),
    "cut": ([*HANDLES, None], lambda s, x: s.world.cut(x)),
    "reroot": ([*HANDLES, None], lambda s, x: s.world.reroot(x)),
    "motor": ([*HANDLES, None], lambda s, x: s.world.motor(x)),
    "motor most": ([*NUMBERS, -1.0], lambda s, x: s.world.motor("elbow", 0.0, x)),
    "motor dof": ([*WHOLE, 1], lambda s, x: s.world.motor("elbow", dof=x)),
    "servo position": ([*NUMBERS, math.inf], lambda s, x: setattr(s.servo, "position", x)),
    "couple source": ([*HANDLES, None], lambda s, x: s.world.drives.couple("elbow", x)),
    "loop_force": ([*HANDLES, None], lambda s, x: s.world.queries.loop_force(x)),
    "push force": (VECTORS, lambda s, x: s.world.apply_force(s.boxes[2], x)),
    "push lasting": ([*THINGS, None], lambda s, x: s.world.apply_force(s.boxes[2], lasting=x)),
    "push.force": (VECTORS, lambda s, x: setattr(s.push, "force", x)),
    "set_material": ([*THINGS, None], lambda s, x: s.world.surfaces.set_material(s.boxes[0], x)),
    "agree": ([*THINGS, None], lambda s, x: s.world.surfaces.set_pair_material(s.ground, s.ground, x)),
    "ignore": ([*HANDLES, None], lambda s, x: s.world.collision_filter.ignore(s.boxes[0], x)),
    "regroup": ([*NOTHING, "x", -1, 2.5, True], lambda s, x: s.world.collision_filter.set_groups(s.boxes[0], mask=x)),
    "immerse": ([*NUMBERS, -1], lambda s, x: s.world.forces.set_fluid(1.0, x)),
    "wake": ([*HANDLES, None], lambda s, x: s.world.sleep.wake(x)),
    "body": ([*HANDLES, None], lambda s, x: s.world.body(x)),
    "getitem": ([*THINGS, None], lambda s, x: s.world[x]),
    "figure": ([*THINGS, None], lambda s, x: s.arm[x]),
    "cast": ([*VECTORS, (0, 0, 0)], lambda s, x: s.world.queries.cast_ray(UP, x)),
    "cast mask": (WHOLE, lambda s, x: s.world.queries.cast_ray(UP, UP, mask=x)),
    "scan": ([*VECTORS, (0, 0, 0)], lambda s, x: s.world.queries.cast_rays(UP, x)),
    "overlaps": (VECTORS, lambda s, x: s.world.queries.overlaps(BALL, x)),
    "when": ([*THINGS, None], lambda s, x: s.world.when(x)),
    "event level": ([*NUMBERS, math.inf], lambda s, x: s.world.when(km.Event.at(x))),
    "event place": ([*NOTHING, "x", 1 << 40], lambda s, x: s.world.when(km.Event.sleep(x))),
    "event ends": ([*NUMBERS[:-1], math.inf, -1], lambda s, x: s.world.when(km.Event.at(1.0, ends=x))),
    "event function": (THINGS[:5] + THINGS[6:], lambda s, x: s.world.when(km.Event("mine", x))),
    "every period": ([*NUMBERS, 0.0], lambda s, x: s.world.every(x, print)),
    "every name": ([*NOTHING, 5], lambda s, x: s.world.every(1.0, print, x)),
    "restore": ([*THINGS, None], lambda s, x: s.world.restore(x)),
    "rerun": ([*THINGS, None], lambda s, x: km.World.rerun(x)),
    "record": ([*WHOLE, 0], lambda s, x: s.world.record("/nowhere", x)),
    "step": (WHOLE, lambda s, x: s.world.step(x)),
    "run": ([*NUMBERS, -1.0], lambda s, x: s.world.run(x)),
    "batch": ([*NOTHING, None, 1, (1, 2), "x"], lambda s, x: km.batch.run(x, 0.1)),
    "threads": ([*WHOLE, 0], lambda s, x: setattr(s.world, "threads", x)),
    "restitution": ([*NUMBERS, 1.5], lambda s, x: km.Material(restitution=x)),
    "priority": ([*NUMBERS, 2.5], lambda s, x: km.Material(priority=x)),
    "surface": (VECTORS, lambda s, x: km.Material(surface=x)),
    "sphere": ([*NUMBERS, 0.0], lambda s, x: km.Shape.sphere(x)),
    "substeps": ([*WHOLE[:8], "x", 0, 101], lambda s, x: km.World(substeps=x)),
    "on": ([*THINGS, None], lambda s, x: s.servo.on(x)),
}


@pytest.fixture(scope="module")
def scene() -> Scene:
    return Scene()


@pytest.mark.parametrize("name", CALLS)
def test_what_is_no_such_thing_is_one_sentence_and_changes_nothing(scene, name):
    wrong, call = CALLS[name]
    before = scene.world.hash()
    for x in wrong:
        with pytest.raises((ValueError, TypeError, KeyError)) as caught:
            call(scene, x)
        text = str(caught.value.args[0])
        assert len(text) > 12, repr(x)
        assert "\n" not in text
        assert str(caught.traceback[-1].statement).strip().startswith("raise"), (
            f"{x!r}: {text}"
        )  # it was meant to be said
        assert "kinemorph" in str(caught.traceback[-1].path)  # and not deep inside NumPy
        assert scene.world.hash() == before, repr(x)


def test_what_is_of_another_world_is_refused():
    here, other = Scene(), Scene()
    world, before = here.world, here.world.hash()
    calls = [
        lambda: world.cut(other.grip),
        lambda: world.cut(other.loop.joint),
        lambda: world.motor(other.arm.joint("elbow")),
        lambda: world.servo(other.arm.joint("elbow"), stiffness=1.0, damping=1.0),
        lambda: world.drives.force(other.servo.joint, 1.0),
        lambda: world.drives.couple("elbow", other.arm.joint("shoulder")),
        lambda: world.queries.loop_force(other.loop),
        lambda: world.when(km.Event.load(other.grip, 1.0)),
        lambda: world.when(km.Event.limit(other.arm.joint("elbow"))),
        lambda: world.when(km.Event.contact(other.boxes[0])),
        lambda: world.connect(here.boxes[2], other.boxes[0], km.Joint.fixed()),
        lambda: world.remove(other.boxes[0]),
        lambda: world.apply_force(other.arm["upper"], (1, 0, 0)),
        lambda: world.surfaces.set_material(other.ground, km.Material()),
        lambda: world.collision_filter.set_groups(other.ground, mask=0),
        lambda: world.surfaces.set_pair_material(here.ground, other.ground, km.Material()),
        lambda: world.collision_filter.ignore(here.boxes[0], other.ground),
        lambda: world.queries.energy(other.arm),
        lambda: world.queries.energy(other.boxes[0]),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="is of another world"):
            call()
        assert world.hash() == before
    with pytest.raises(TypeError, match="is the id of a shape, not of a joint"):
        world.cut(here.ground)
    with pytest.raises(TypeError, match="is the id of a joint, not of a body"):
        world.remove(here.arm.joint("elbow"))
    with pytest.raises(TypeError, match="its id or its name, not Body 'box 0'"):
        world.motor(here.boxes[0])


def test_ids_are_numbers_in_copies_of_a_world():
    scene = Scene()
    branch = scene.world.branch()
    with pytest.raises(ValueError, match="is of another world"):
        branch.cut(scene.grip)
    branch.cut(int(scene.grip.joint))
    assert not branch.forest.has_joint(scene.grip.joint)
    assert scene.world.forest.has_joint(scene.grip.joint)


def test_joints_are_driven_by_their_names():
    scene = Scene()
    motor = scene.world.motor("shoulder", 1.0)
    assert motor.joint == scene.arm.joint("shoulder")
    scene.world.run(0.2)
    assert scene.arm.velocity("shoulder") == pytest.approx(1.0, abs=1e-6)


def test_another_thread_is_refused_while_steps_are_made():
    world = km.World(sleep=False)
    world.add_ground()
    boxes = [world.add(km.Shape.box((0.2,) * 3), at=(0.3 * (i % 20), 0.3 * (i // 20), 0.1)) for i in range(200)]
    asked = [
        lambda: world.step(), lambda: world.apply_force(boxes[0], (0, 0, 1)), lambda: world.add(BALL),
        lambda: world.save(), lambda: boxes[0].position, lambda: world.queries.energy(), lambda: world.contacts(),
        lambda: world.queries.cast_ray(UP, UP), lambda: world.states(),
        lambda: setattr(world, "gravity", UP), lambda: world.restore(b""), lambda: world.branch(),
    ]  # fmt: skip
    running = threading.Thread(target=world.run, args=(2.0,))
    running.start()
    said: dict[int, str] = {}
    while running.is_alive() and len(said) < len(asked):
        for i, ask in enumerate(asked):
            try:
                if world._stepping_thread:
                    ask()
            except RuntimeError as error:
                said[i] = str(error)
    running.join()
    assert len(said) == len(asked)
    assert all("another thread makes steps with it now" in text for text in said.values())
    world.step()


def test_what_happens_in_a_function_that_fails_when_it_is_first_asked_is_not_waited_for():
    world = km.World()
    with pytest.raises(km.WorldError, match="event 'mine'"):
        world.when(km.Event("mine", lambda world: 1 / 0))
    assert world.monitors == []
    world.run(0.1)


def test_restored_events_and_timers_of_one_name_have_their_own_functions():
    world = km.World()
    world.add_ground()
    world.add(BALL, at=(0, 0, 0.5), name="ball", material=km.Material(restitution=0.8))
    said: list[str] = []
    world.when(km.Event.contact("ball", "ground", name="touch"), lambda w, m: said.append("begins"))
    world.when(km.Event.contact("ball", "ground", name="touch", direction=-1), lambda w, m: said.append("ends"))
    world.every(0.1, lambda w: said.append("one"))
    world.every(0.1, lambda w: said.append("two"))
    start = world.save()
    world.run(0.5)
    first, said[:] = list(said), []
    world.restore(start)
    world.run(0.5)
    assert said == first
    assert set(said) == {"begins", "ends", "one", "two"}


def test_a_world_remembers_numbers_and_arrays_and_says_what_it_cannot():
    world = km.World()
    world.memory |= {"sum": 1.5, "count": 3, "many": np.arange(3.0)}
    again = km.World.load(world.save())
    assert again.hash() == world.hash()
    assert (again.memory["sum"], again.memory["count"]) == (1.5, 3)
    world.memory["text"] = "mine"
    with pytest.raises(TypeError, match=r"memory\['text'\] is 'mine'"):
        world.save()


def test_mass_and_density_are_two_ways_to_say_it():
    world = km.World()
    assert world.add(BALL, mass=2.5).mass == pytest.approx(2.5)
    assert world.add(km.Shape.box((0.1, 0.2, 0.3)), density=500.0).mass == pytest.approx(3.0)
    for given, text in (
        ({"mass": 1.0, "density": 2.0}, "a density or a mass, not both"), ({"q": [0.0]}, "q is for a model"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=text):
            world.add(BALL, **given)
    for given in ({"mass": 1.0}, {"density": 1.0}, {"twist": (0,) * 6}):
        with pytest.raises(ValueError, match="is for a shape"):
            world.add(arm(), **given)


# ------------------------------------------------------------------------------------------------------ convex parts


def trough(folder: Path) -> Path:
    """A channel, open at its top and its ends: all its corners are on its hull."""
    outline = [(-0.2, -0.1), (0.2, -0.1), (0.2, 0.2), (0.15, 0.2), (0.15, -0.05), (-0.15, -0.05), (-0.15, 0.2),
               (-0.2, 0.2)]  # fmt: skip
    n, cap = len(outline), [(0, 1, 4), (0, 4, 5), (1, 2, 3), (1, 3, 4), (0, 5, 6), (0, 6, 7)]
    faces = [*cap, *((a + n, c + n, b + n) for a, b, c in cap)]
    for i in range(n):
        j = (i + 1) % n
        faces += [(i, i + n, j + n), (i, j + n, j)]
    lines = [f"v {x} {y} {z}" for y in (-0.1, 0.1) for x, z in outline]
    lines += ["f " + " ".join(str(k + 1) for k in face) for face in faces]
    path = folder / "trough.obj"
    path.write_text("\n".join(lines))
    return path


PARTS = km.Parts(
    [km.core_of(km.Shape.box(size))[0].moved(km.Pose(at)) for size, at in (
        ((0.4, 0.2, 0.05), (0, 0, -0.075)), ((0.05, 0.2, 0.25), (-0.175, 0, 0.075)),
        ((0.05, 0.2, 0.25), (0.175, 0, 0.075)),
    )]
)  # fmt: skip


def test_a_mesh_that_touches_as_its_hull_is_said_so_and_says_what_to_do(tmp_path):
    world, shape = km.World(), km.Shape.mesh(trough(tmp_path))
    with pytest.warns(km.ModelWarning, match=r"trough.obj of tray.*convex hulls.*kinemorph\.decompose"):
        world.add(shape, name="tray")
    world.add_ground(km.Terrain(km.load_mesh(shape.path)))  # what stands is as it looks
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        world.add(km.Shape.mesh(shape.path, parts=PARTS))


@pytest.mark.parametrize("way", ["parts", "shape", "model"])
def test_a_ball_falls_into_what_is_made_of_convex_parts(tmp_path, way):
    shape = km.Shape.mesh(trough(tmp_path), parts=PARTS)
    world = km.World()
    world.add_ground()
    if way == "model":
        b = km.Builder("cart")
        b.link("tray", None, km.Joint.free(), inertia=km.Inertia.box(9.0, (0.4, 0.2, 0.3)), shapes=[shape])
        tray = world.add(b.build(), at=(0, 0, 0.1))["tray"]
    else:
        tray = world.add(PARTS if way == "parts" else shape, at=(0, 0, 0.1), name="tray")
        assert tray.mass == pytest.approx(9.0)
    ball = world.add(km.Shape.sphere(0.04), at=(0, 0, 0.35), name="ball")
    world.run(1.0)
    assert ball.position[2] == pytest.approx(0.09, abs=1e-3)
    assert {touch.other.name for touch in world.contacts(ball)} == {"tray"}
    seen = world.queries.cast_ray((0.1, 0, 1), (0, 0, -1))
    assert seen.body == tray
    assert seen.point[2] == pytest.approx(0.05, abs=1e-4)
    assert world.queries.overlaps(km.Shape.sphere(0.02), (0.1, 0, 0.15)) == []
    again = km.World.load(world.save())
    world.run(0.1)
    again.run(0.1)
    assert again.hash() == world.hash()


def test_parts_have_the_mass_of_the_solid_that_they_were_cut_from_and_journals_repeat_them(tmp_path):
    solid = km.mesh_of(km.Shape.box((0.4, 0.2, 0.2)))
    parts = km.Parts(PARTS.parts, solid=solid)
    world = km.World()
    world.add_ground()
    with world.record(tmp_path / "j"):
        body = world.add(parts, at=(0, 0, 0.5))
        world.gravity = (0, 0, -3.0)
        world.run(0.2)
    assert body.mass == pytest.approx(16.0)
    assert km.World.rerun(tmp_path / "j").hash() == world.hash()


def test_models_and_shapes_are_cut_into_parts(tmp_path):
    pytest.importorskip("coacd")
    shape = km.Shape.mesh(trough(tmp_path))
    cut = km.decompose(shape)
    assert len(cut.parts.parts) >= 3
    assert cut.parts.solid is not None
    b = km.Builder("cart")
    b.link("tray", None, km.Joint.free(), inertia=km.Inertia.box(1.0, (0.4, 0.2, 0.3)), shapes=[shape, BALL])
    tray, ball = b.build().with_parts().shapes[0]
    assert (tray.parts is None, ball.parts is None) == (False, True)
    with pytest.raises(ValueError, match="a sphere is convex"):
        km.decompose(BALL)
