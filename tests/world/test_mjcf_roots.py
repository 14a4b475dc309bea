"""Random MJCF models in worlds, with MuJoCo as the judge: where bodies are, how they move, and where they are put."""

import numpy as np
import pytest
from tests.strategies import random_pose
from tests.world.test_free_roots import SETTERS, put

import kinemorph as km
from kinemorph.spatial.quaternion import from_matrix

mujoco = pytest.importorskip("mujoco")
JOINTS = ("hinge", "slide", "ball")


def numbers(values) -> str:
    return " ".join(f"{x:.17g}" for x in np.ravel(values))


def placed(rng: np.random.Generator) -> str:
    """A frame, in one of the ways in which MJCF says it."""
    turn = ("", f'euler="{numbers(rng.uniform(-180, 180, 3))}"', f'quat="{numbers(rng.normal(size=4))}"',
            f'axisangle="{numbers(rng.normal(size=3))} {rng.uniform(-180, 180):.17g}"',
            f'xyaxes="{numbers(rng.normal(size=6))}"')[rng.integers(5)]  # fmt: skip
    return (f'pos="{numbers(rng.normal(size=3))}" ' if rng.random() < 0.8 else "") + turn


def body(rng: np.random.Generator, name: str, depth: int) -> str:
    """A body with its joint and all that it carries."""
    kind = JOINTS[rng.integers(3)]
    anchor = f'pos="{numbers(0.3 * rng.normal(size=3))}"' if rng.random() < 0.6 else ""
    joint = f'<joint name="{name}" type="{kind}" axis="{numbers(rng.normal(size=3))}" {anchor}/>'
    if depth == 0 and rng.random() < 0.8:
        joint = f'<freejoint name="{name}"/>' if rng.random() < 0.5 else f'<joint name="{name}" type="free"/>'
    inside = "".join(body(rng, f"{name}{k}", depth + 1) for k in range(rng.integers(3) if depth < 3 else 0))
    geom = f'<geom type="box" size="{numbers(rng.uniform(0.05, 0.3, 3))}" {placed(rng)} contype="0" conaffinity="0"/>'
    return f'<body name="{name}" {placed(rng)}>{joint}{geom}{inside}</body>'


def judged(rng: np.random.Generator, xml: str, model: km.Model, neutral: bool):
    """A random state of ours; and of each body, by MuJoCo, the pose of its own frame and its twist."""
    m = mujoco.MjModel.from_xml_string(xml)
    d = mujoco.MjData(m)
    d.qvel[:] = rng.normal(size=m.nv)
    q, v = km.neutral(model), np.zeros(model.nv)
    for row, name in zip(model.links, model.joint_names, strict=True):
        j = m.joint(name)
        a, w = int(j.qposadr[0]), int(j.dofadr[0])
        iq, iv, nq, nv = (int(row[part]) for part in ("iq", "iv", "nq", "nv"))
        free, rates = nq == 7, d.qvel[w : w + nv]
        if not neutral:
            d.qpos[a : a + nq] = rng.normal(size=nq)
        if nq >= 4:
            turn = d.qpos[a + nq - 4 : a + nq]
            turn /= np.linalg.norm(turn)
        q[iq : iq + nq], v[iv : iv + nv] = d.qpos[a : a + nq], rates
        if free:  # of ours the pose is seen from where the joint stands, and both velocities are along the body's axes
            pose = km.Pose.quaternion(d.qpos[a + 3 : a + 7], d.qpos[a : a + 3])
            seen = km.Pose(row["p"], row["R"].reshape(3, 3)).inverse() @ pose
            q[iq : iq + 7] = np.r_[seen.position, from_matrix(tuple(seen.rotation.ravel().tolist()))]
            v[iv : iv + 6] = np.r_[rates[3:], pose.rotation.T @ rates[:3]]
    mujoco.mj_forward(m, d)
    found, twist = {}, np.zeros(6)
    for name in model.names:
        mujoco.mj_objectVelocity(m, d, mujoco.mjtObj.mjOBJ_XBODY, m.body(name).id, twist, 0)
        there = km.Pose(d.body(name).xpos, d.body(name).xmat.reshape(3, 3))
        own = there @ model.frames[name][1].inverse()
        found[name] = own, np.r_[twist[:3], twist[3:] + np.cross(twist[:3], own.position - there.position)]
    return q, v, found


def assert_as_said(world: km.World, said) -> None:
    for each in world.bodies:
        pose, twist = said[each.name]
        np.testing.assert_allclose(each.position, pose.position, atol=1e-10)
        np.testing.assert_allclose(each.pose.rotation, pose.rotation, atol=1e-11)
        np.testing.assert_allclose(each.twist, twist, atol=1e-9)
        np.testing.assert_allclose(np.r_[each.angular_velocity, each.velocity], twist, atol=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_bodies_of_mjcf_are_where_mujoco_has_them_and_where_they_are_put(seed):
    rng = np.random.default_rng(seed)
    bodies = "".join(body(rng, f"b{i}", 0) for i in range(rng.integers(1, 4)))
    xml = f'<mujoco><option gravity="0 0 0"/><worldbody>{bodies}</worldbody></mujoco>'
    model = km.parse_mjcf(xml)
    for neutral in (True, False):
        q, v, said = judged(rng, xml, model, neutral)
        at = (km.Pose(), km.Pose(rng.normal(size=3)), random_pose(rng, 2.0))[rng.integers(3)]
        world = km.World(gravity=(0, 0, 0), sleep=False)
        world.add(model, at, v=v, **({} if neutral else {"q": q}))
        whole = np.kron(np.eye(2), at.rotation)
        said = {name: (at @ pose, whole @ twist) for name, (pose, twist) in said.items()}
        assert_as_said(world, said)
        kept = world.save(), dict(said)
        for _ in range(12):
            one = world.bodies[rng.integers(len(world.bodies))]
            members = world.forest.members(world.forest.tree_of(one.id)).tolist()
            if world.queries.link_of(members[0])["kind"] != km.JointKind.FREE:
                world.reroot(one)  # nothing moves, and it floats from now on
                assert_as_said(world, said)
                continue
            if rng.random() < 0.3:
                world.reroot(one, at=random_pose(rng))
                assert_as_said(world, said)
            joined = [each for each in world.bodies if int(each.id) in members]
            pose, went = said[one.name]
            there, goes = put(
                world, one, SETTERS[rng.integers(len(SETTERS))], random_pose(rng, 3.0), rng.normal(size=6)
            )
            way = there @ pose.inverse()
            turned = np.kron(np.eye(2), way.rotation)
            more = goes - turned @ went  # a rigid motion of the whole tree, on top of what turns with it
            for each in joined:
                old, moves = said[each.name]
                lever = np.cross(more[:3], (way @ old).position - there.position)
                said[each.name] = way @ old, turned @ moves + more + np.r_[0, 0, 0, lever]
            assert_as_said(world, said)
        world.restore(kept[0])
        assert_as_said(world, kept[1])
