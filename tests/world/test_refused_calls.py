"""What a world refuses leaves it as it was: who sleeps, its hash, and what may be said of it."""

import numpy as np
import pytest

import kinemorph as km

NAN = float("nan")
BOX = km.Shape.box((0.5, 0.5, 0.5))


def ball_model() -> km.Model:
    b = km.Builder("arm")
    mass = km.Inertia.box(1.0, (0.1, 0.2, 0.3))
    b.link("upper", None, km.Joint.spherical(name="shoulder"), (0, 0, 3), mass)
    b.link("lower", "upper", km.Joint.revolute("y", name="elbow"), (0.3, 0, 0), mass)
    return b.build()


def sleeping() -> tuple[km.World, dict]:
    """Boxes that sleep on the ground, one on another, and two that a loop ties; and what can be asked for."""
    world = km.World()
    ground = world.add_ground()
    boxes = [world.add(BOX, at=(3.0 * i, 0, 0.25), name=f"box {i}") for i in range(4)]
    boxes.append(world.add(BOX, at=(0, 0, 0.75), name="on top"))
    tie = world.connect(boxes[1], boxes[2], km.Joint.spherical(name="tie"), (4.5, 0, 0.25), how="loop")
    motor_on = world.connect(None, boxes[3], km.Joint.revolute("z", name="axle"))
    figure = world.add(ball_model())
    world.run(2.0)
    assert [box.asleep for box in boxes] == [True] * 5
    return world, {"ground": ground, "boxes": boxes, "tie": tie, "axle": motor_on, "figure": figure}


A = km.Joint.revolute("y")
REFUSED = {  # by what it does; each takes a world and its things, and must not work
    "ignore itself": lambda w, t: w.collision_filter.ignore(t["boxes"][0], t["boxes"][0]),
    "heed itself": lambda w, t: w.collision_filter.collide_with(t["boxes"][1], t["boxes"][1]),
    "ignore its own shape": lambda w, t: w.collision_filter.ignore(t["ground"], t["ground"]),
    "ignore a shape that is none": lambda w, t: w.collision_filter.ignore(t["boxes"][0], 99),
    "ignore an id of a body": lambda w, t: w.collision_filter.ignore(t["boxes"][0].id, t["boxes"][1].id),
    "regroup an id of a body": lambda w, t: w.collision_filter.set_groups(t["boxes"][0].id, group=2),
    "material of an id of a body": lambda w, t: w.surfaces.set_material(t["boxes"][0].id, km.Material(friction=0.1)),
    "agree on ids of bodies": lambda w, t: w.surfaces.set_pair_material(
        t["boxes"][0].id, t["boxes"][1].id, km.Material()
    ),
    "remove a body as ground": lambda w, t: w.structure.remove_ground(t["boxes"][0].id),
    "remove a body as ground, by itself": lambda w, t: w.structure.remove_ground(t["boxes"][0]),
    "remove a joint as ground": lambda w, t: w.structure.remove_ground(t["tie"].joint),
    "remove ground as a body": lambda w, t: w.remove(t["ground"]),
    "remove a joint": lambda w, t: w.remove(t["tie"].joint),
    "cut a body": lambda w, t: w.cut(t["boxes"][0].id),
    "cut the ground": lambda w, t: w.cut(t["ground"]),
    "motor on a body": lambda w, t: w.motor(t["boxes"][0].id, 1.0),
    "reroot to a joint": lambda w, t: w.reroot(t["axle"].joint),
    "wake a joint": lambda w, t: w.sleep.wake(t["axle"].joint),
    "place a shape": lambda w, t: w.placement.place(t["ground"], (0, 0, 1)),
    "place what stands": lambda w, t: w.placement.place(t["boxes"][3], (0, 0, 1)),
    "place what is tied": lambda w, t: w.placement.place(t["figure"]["lower"], (0, 0, 1)),
    "place nowhere": lambda w, t: w.placement.place(t["boxes"][0], (NAN, 0, 1)),
    "turn in no way": lambda w, t: w.placement.place(t["boxes"][0], km.Pose.quaternion((0, 0, 0, 0))),
    "twist without end": lambda w, t: w.placement.place(t["boxes"][0], twist=(np.inf, 0, 0, 0, 0, 0)),
    "a joint nowhere": lambda w, t: w.placement.set_joint("elbow", NAN),
    "a joint by a body": lambda w, t: w.placement.set_joint(t["boxes"][0].id, 0.0),
    "a ball that is not turned": lambda w, t: w.placement.set_joint("shoulder", (0, 0, 0, 0)),
    "a ball that is turned without end": lambda w, t: w.placement.set_joint("shoulder", (1e300, 1e300, 0, NAN)),
    "connect itself": lambda w, t: w.connect(t["boxes"][0], t["boxes"][0], A),
    "connect by a joint": lambda w, t: w.connect(None, t["tie"].joint, A),
    "connect outside of limits": lambda w, t: w.connect(
        None, t["boxes"][0], km.Joint.revolute("y", lower=0.5, upper=1.0)
    ),
    "tie to itself": lambda w, t: w.structure.tie(km.ForceElement.spring("a", "b", 1.0), t["boxes"][0], t["boxes"][0]),
    "push without end": lambda w, t: w.apply_force(t["boxes"][0], (np.inf, 0, 0)),
    "push a joint": lambda w, t: w.apply_force(t["tie"].joint, (1, 0, 0)),
    "add nowhere": lambda w, t: w.add(BOX, at=(NAN, 0, 0)),
    "add a figure that is not turned": lambda w, t: w.add(ball_model(), q=np.zeros(5)),
}


@pytest.fixture(scope="module")
def scene():
    return sleeping()


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_wakes_nothing_and_changes_nothing(what, scene):
    world, things = scene
    before, asleep, told = (
        world.hash(),
        [b.asleep for b in world.bodies],
        [world.sleep.why_awake(b) for b in world.bodies],
    )
    with pytest.raises((ValueError, TypeError, KeyError)) as caught:
        REFUSED[what](world, things)
    assert str(caught.value)
    assert [b.asleep for b in world.bodies] == asleep
    assert [world.sleep.why_awake(b) for b in world.bodies] == told
    assert world.hash() == before


def test_ground_is_not_removed_by_the_id_of_a_body():
    world = km.World()
    ground, other = world.add_ground(), world.add_ground(km.Shape.box((1, 1, 1), km.Pose((9, 0, 0))))
    bodies = [world.add(BOX, at=(3.0 * i, 0, 0.25)) for i in range(3)]
    for body in bodies:
        with pytest.raises(TypeError, match="is the id of a body, not of a shape"):
            world.structure.remove_ground(body.id)
    world.structure.remove_ground(ground)
    world.structure.remove_ground(int(other))
    assert world.body(bodies[0].id) == bodies[0]
    assert int(bodies[0].id) == bodies[0].id


def test_nothing_has_woken_what_nothing_has_touched():
    world = km.World()
    world.add_ground()
    boxes = [world.add(BOX, at=(50.0 * i, 0, 0.25), name=f"box {i}") for i in range(4)]
    assert [world.sleep.why_awake(box) for box in boxes] == [""] * 4
    world.run(2.0)
    assert [world.sleep.why_awake(box) for box in boxes] == [""] * 4
    bullet = world.add(km.Shape.sphere(0.1), at=(98, 0, 0.25), twist=(0, 0, 0, 9, 0, 0), name="bullet", density=5000)
    world.run(0.4)
    assert [world.sleep.why_awake(box) for box in boxes] == ["", "", "'bullet' touched it", ""]
    world.remove(bullet)
    assert world.sleep.why_awake(boxes[2]) == "something that is gone touched it"
    late = world.add(BOX, at=(-50, 0, 0.25), name="late")  # it has the place of the bullet's tree
    assert world.sleep.why_awake(boxes[2]) == "something that is gone touched it"
    assert world.sleep.why_awake(late) == ""
    saved = world.save()
    world.restore(saved)
    assert world.sleep.why_awake(boxes[2]) == "something that is gone touched it"


@pytest.mark.parametrize("culprit", [0, 2, 3])
@pytest.mark.parametrize("contact", ["timestep", "impulse"])
@pytest.mark.parametrize("how", ["fast", "spinning", "far"])
def test_the_error_names_the_body_without_end(culprit, contact, how):
    world = km.World(contact=contact)
    world.add_ground()
    for k in range(4):
        at = (1.797e308, 0, 0) if how == "far" and k == culprit else (3.0 * k, 0, 2)
        spin = 1e300 if how == "spinning" and k == culprit else 0.0
        speed = 1e308 if how != "spinning" and k == culprit else 0.0
        world.add(km.Shape.sphere(0.5), at=at, mass=1.0, twist=(0, 0, spin, speed, speed, 0), name=f"body {k}")
    with pytest.raises(km.WorldError, match=f"'body {culprit}'") as caught:
        world.run(0.02)
    assert caught.value.body == f"body {culprit}"
