"""Poses and velocities that are set by hand, whatever frames roots, links and bodies have.

The reference is made of the rows of a forest's tables alone: joints by `tests.naive`, and the bodies' own frames.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from tests.naive.dynamics import Tree
from tests.strategies import random_pose, random_tree

import kinemorph as km
from kinemorph.structure.forest.layout import BODIES, Q, V
from kinemorph.structure.forest.memory import ID_INDEX_MASK
from kinemorph.view.body_poses import visible_shapes

TURNED = """<mujoco><worldbody><body name="a" pos="0 0 1" euler="0 0 90"><freejoint/>
    <geom type="box" size=".1 .2 .3" pos=".1 0 0"/></body></worldbody></mujoco>"""
SETTERS = ("place a pose", "place a point", "place all", "pose", "position", "twist", "velocity", "angular_velocity")


def motion(forest: km.Forest) -> dict[int, tuple[km.Pose, np.ndarray]]:
    """Pose and twist of every body by its id, from the tables."""
    found = {}
    for tree in forest.trees.tolist():
        t = tree & ID_INDEX_MASK
        links = forest._links(t)
        q, v = forest._vector(t, Q), forest._vector(t, V)
        slow = Tree(SimpleNamespace(links=links, nv=len(v)), q)
        for id, link, R, p, moves in zip(
            forest.members(tree).tolist(), links, slow.R, slow.p, slow.velocities(v), strict=True
        ):
            slot = forest._tables[BODIES][link["body"]]
            w, own = R @ moves[:3], R @ slot["p"]
            pose = km.Pose(p + own, R @ slot["R"].reshape(3, 3))
            found[id] = pose, np.r_[w, R @ moves[3:] + np.cross(w, own)]
    return found


def same_pose(one: km.Pose, other: km.Pose) -> None:
    np.testing.assert_allclose(one.rotation, other.rotation, atol=1e-12)
    np.testing.assert_allclose(one.position, other.position, atol=1e-12)


def random_world(rng: np.random.Generator) -> km.World:
    """Trees that float or stand, with roots anywhere, some of them with another body on top than at first."""
    world = km.World(gravity=(0, 0, 0), sleep=False)
    for k in range(3):
        free = rng.random() < 0.7
        kinds = [km.JointKind.FREE] if free else tuple(km.JointKind)
        model = random_tree(rng, 1, kinds)
        b = km.Builder(f"tree {k}")
        row = model.links[0]
        joint = km.Joint.free() if free else km.Joint(km.JointKind(row["kind"]), row["axis"], row["axis2"], 0.1)
        b.link("top", None, joint, random_pose(rng), km.Inertia.box(1.0, (0.1, 0.2, 0.3), rng.normal(size=3)))
        for i in range(int(rng.integers(4))):
            axis = rng.normal(size=3)
            kind = (km.Joint.revolute, km.Joint.prismatic, km.Joint.screw)[int(rng.integers(3))]
            more = {"pitch": 0.2} if kind is km.Joint.screw else {}
            limb = km.Joint.spherical() if rng.random() < 0.3 else kind(axis / np.linalg.norm(axis), **more)
            above = "top" if i == 0 or rng.random() < 0.5 else f"limb {i - 1}"
            mass = km.Inertia.box(0.5, (0.3, 0.1, 0.2), rng.normal(size=3))
            b.link(f"limb {i}", above, limb, random_pose(rng), mass)
        model = b.build()
        state = km.State(km.random_configuration(model, rng), rng.normal(size=model.nv))
        if rng.random() < 0.5:  # the link's frame is not its body's own then
            report = km.reroot(model, state, int(rng.integers(model.n)), at=rng.normal(size=3))
            model, state = report.model, report.state
        given = {"q": state.q} if rng.random() < 0.7 else {}
        at = random_pose(rng, 3.0) if rng.random() < 0.7 else rng.normal(size=3)
        figure = world.add(model, at, v=state.v, name=f"figure {k}", **given)
        names = [body.name for body in figure]
        for _ in range(int(rng.integers(3))):
            at = (None, rng.normal(size=3), random_pose(rng))[int(rng.integers(3))]
            world.reroot(figure[names[int(rng.integers(len(names)))]], at=at)
    return world


def put(world: km.World, body: km.Body, how: str, pose: km.Pose, twist: np.ndarray) -> tuple[km.Pose, np.ndarray]:
    """Set something of a body in one of the ways that there are; what the body should have then."""
    before, moved = body.pose, body.twist
    if how == "place a pose":
        world.placement.place(body, pose)
        return pose, moved
    if how in ("place a point", "position"):
        if how == "position":
            body.position = pose.position
        else:
            world.placement.place(body, pose.position)
        return km.Pose(pose.position, before.rotation), moved
    if how == "place all":
        world.placement.place(body, pose, twist)
        return pose, twist
    if how == "pose":
        body.pose = pose
        return pose, moved
    if how == "twist":
        body.twist = twist
        return before, twist
    if how == "velocity":
        body.velocity = twist[3:]
        return before, np.r_[moved[:3], twist[3:]]
    body.angular_velocity = twist[:3]
    return before, np.r_[twist[:3], moved[3:]]


def test_a_root_with_a_frame_of_its_own_goes_where_it_is_put():
    world = km.World(gravity=(0, 0, 0))
    body = world.add(km.parse_mjcf(TURNED))["a"]
    body.velocity = (1, 0, 0)
    np.testing.assert_allclose(body.velocity, (1, 0, 0), atol=1e-15)
    body.position = (3, 0, 0)
    np.testing.assert_allclose(body.position, (3, 0, 0), atol=1e-15)
    world.run(0.5)
    np.testing.assert_allclose(body.position, (3.5, 0, 0), atol=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_bodies_are_where_any_setter_puts_them_and_all_readers_say_so(seed):
    rng = np.random.default_rng(seed)
    world = random_world(rng)
    for how in SETTERS:
        body = world.bodies[int(rng.integers(len(world.bodies)))]
        pose, twist, before = random_pose(rng, 5.0), rng.normal(size=6), motion(world.forest)
        tree = world.forest.tree_of(body.id)
        joined = world.forest.members(tree).tolist()
        if world.forest._links(tree & ID_INDEX_MASK)[0]["kind"] != km.JointKind.FREE:
            was = world.hash()
            with pytest.raises(ValueError, match="does not float"):
                put(world, body, how, pose, twist)
            assert world.hash() == was
            continue
        there, moves = put(world, body, how, pose, twist)
        after = motion(world.forest)
        turn = there.rotation @ before[body.id][0].rotation.T
        spin, push = moves[:3] - turn @ before[body.id][1][:3], moves[3:] - turn @ before[body.id][1][3:]
        for other in world.bodies:
            at, goes = before[other.id]
            if other.id in joined:  # as if all were rigid
                whole = there @ before[body.id][0].inverse()
                at = whole @ at
                lever = np.cross(spin, at.position - there.position)
                goes = np.r_[turn @ goes[:3] + spin, turn @ goes[3:] + push + lever]
            same_pose(after[other.id][0], at)
            same_pose(other.pose, at)
            same_pose(world.forest.pose(other.id), at)
            np.testing.assert_allclose(after[other.id][1], goes, atol=1e-11)
            np.testing.assert_allclose(other.twist, goes, atol=1e-11)
            np.testing.assert_allclose(other.position, at.position, atol=1e-12)
            np.testing.assert_allclose(other.velocity, goes[3:], atol=1e-11)
            np.testing.assert_allclose(other.angular_velocity, goes[:3], atol=1e-11)
        same_pose(body.pose, there)
        np.testing.assert_allclose(body.twist, moves, atol=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_the_base_of_a_model_is_where_it_is_added(seed):
    rng = np.random.default_rng(100 + seed)
    for first in (km.JointKind.FREE, *rng.permutation(np.array(km.JointKind, dtype=int))[:2]):
        model = random_tree(rng, int(rng.integers(1, 5)), [km.JointKind(first)], roots=int(rng.integers(1, 3)))
        q, v, at = km.random_configuration(model, rng), rng.normal(size=model.nv), random_pose(rng, 2.0)
        for given, place in ((q, at), (None, at), (q, at.position), (None, at.position)):
            base = at if place is at else km.Pose(at.position)
            world = km.World(gravity=(0, 0, 0))
            figure = world.add(model, place, q=given, v=v)
            alone = Tree(model, km.neutral(model) if given is None else given)
            rates = alone.velocities(v)
            for i, name in enumerate(model.names):
                pose = base @ km.Pose(alone.p[i], alone.R[i])
                same_pose(figure[name].pose, pose)
                goes = np.r_[pose.rotation @ rates[i][:3], pose.rotation @ rates[i][3:]]
                np.testing.assert_allclose(figure[name].twist, goes, atol=1e-11)


@pytest.mark.parametrize("roots", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_the_ground_of_a_model_goes_where_its_base_goes(seed, roots):
    """Floors and shapes that stand, of models of one tree and of several."""
    rng = np.random.default_rng([110, seed, roots])
    floor, box = rng.uniform(-1.0, 1.0), rng.uniform(2.0, 3.0)
    bodies = "".join(f'<body pos="{i} 9 0"><freejoint/><geom size=".1"/></body>' for i in range(roots))
    model = km.parse_mjcf(
        f'<mujoco><worldbody><geom type="plane" size="9 9 .1" pos="0 0 {floor}"/>'
        f'<geom type="box" size=".5 .5 .1" pos="0 0 {box}"/>{bodies}</worldbody></mujoco>'
    )
    for at in (km.Pose(), km.Pose(rng.normal(size=3)), random_pose(rng, 3.0)):
        world = km.World(gravity=(0, 0, 0))
        figure = world.add(model, at)
        for i, body in enumerate(figure):
            same_pose(body.pose, at @ km.Pose((i, 9, 0)))
        for x, top in ((0.2, box + 0.1), (3.0, floor)):
            hit = world.queries.cast_ray(at.apply((x, 0.1, 8.0)), at.rotation @ (0, 0, -1.0))
            assert hit.distance == pytest.approx(8.0 - top, abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_where_a_joint_holds_the_base_does_not_depend_on_who_is_on_top(seed):
    rng = np.random.default_rng(200 + seed)
    b = km.Builder("pair")
    b.link("a", None, km.Joint.free(), random_pose(rng), km.Inertia.box(1.0, (0.1, 0.2, 0.3), (0.1, 0, 0)))
    b.link("b", "a", km.Joint.revolute("y"), random_pose(rng), km.Inertia.box(1.0, (0.1, 0.2, 0.3), (0.1, 0, 0)))
    model = b.build()
    q, v, axis, angle = km.random_configuration(model, rng), rng.normal(size=7), rng.normal(size=3), rng.uniform(-2, 2)
    axis /= np.linalg.norm(axis)
    at = random_pose(rng)
    for how in ("auto", "loop"):
        found = []
        for tops in ((), (1,), (1, 0)):
            forest = km.Forest()
            bodies = forest.add(model, q, v).bodies.tolist()
            for top in tops:
                forest.reroot(bodies[top])
            before = motion(forest)
            joint = forest.connect(bodies[0], -1, km.Joint.revolute(axis), at, how, on=at @ km.Pose.turn(axis, angle))
            for id, (pose, _) in motion(forest).items():
                same_pose(pose, before[id][0])
            if how == "auto":
                assert forest.position(joint.joint)[0] == pytest.approx(angle, abs=1e-12)
            else:
                assert forest.loop_errors()[0] < 1e-12
            found.append([motion(forest)[id][1] for id in bodies])
        np.testing.assert_allclose(found[1], found[0], atol=1e-10)
        np.testing.assert_allclose(found[2], found[0], atol=1e-10)


@pytest.mark.parametrize("seed", range(6))
def test_a_knock_adds_to_the_velocity_of_the_bodys_own_frame(seed):
    rng = np.random.default_rng(300 + seed)
    world = random_world(rng)
    floating = [b for b in world.bodies if is_top(world, b)]
    for body in floating:
        before, push, turn = body.twist, rng.normal(size=3), rng.normal(size=3)
        world.forest.knock(body.id, push, turn)
        np.testing.assert_allclose(body.twist, before + np.r_[turn, push], atol=1e-12)
    assert floating


def is_top(world: km.World, body: km.Body) -> bool:
    tree = world.forest.tree_of(body.id)
    top = world.forest._links(tree & ID_INDEX_MASK)[0]
    return bool(top["kind"] == km.JointKind.FREE and top["body"] == body.id & ID_INDEX_MASK)


@pytest.mark.parametrize("seed", range(6))
def test_shapes_of_a_model_that_was_edited_are_where_its_bodies_are(seed):
    rng = np.random.default_rng(400 + seed)
    b = km.Builder("chain")
    for i in range(4):
        mass, at = km.Inertia.box(1.0, (0.1, 0.2, 0.3)), random_pose(rng)
        joint = km.Joint.revolute(rng.normal(size=3)) if i else km.Joint.free()
        shapes = [km.Shape.sphere(0.01, km.Pose((0.05, 0, 0))), km.Shape.sphere(0.02, role=km.Role.VISUAL)]
        b.link(f"link {i}", f"link {i - 1}" if i else None, joint, at, mass, shapes)
    model = b.build()
    state = km.State(km.random_configuration(model, rng), np.zeros(model.nv))
    for change in range(3):
        if change == 1 and seed % 2:
            report = km.cut(model, state, int(rng.integers(1, model.n)))
        else:
            report = km.reroot(model, state, int(rng.integers(model.n)), at=rng.normal(size=3))
        model, state = report.model, report.state
    world = km.World()
    figure = world.add(model, random_pose(rng), q=state.q)
    for body in figure:
        way, centre = rng.normal(size=3), body.pose.apply((0.05, 0, 0))
        way /= np.linalg.norm(way)
        hit = world.queries.cast_ray(centre + 0.5 * way, -way)
        assert hit.body == body
        assert hit.distance == pytest.approx(0.49, abs=1e-9)
        assert [s.pose.position.tolist() for s in visible_shapes(world, body.id, {})] == [[0.05, 0, 0], [0, 0, 0]]
