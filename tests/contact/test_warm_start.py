"""What a step starts from: impulses of contacts as world vectors, of joints by joint and sense."""

from __future__ import annotations

import numpy as np
import pytest
from tests.contact.random_scenes import let_settle, scene
from tests.contact.reach import LINK, DofConstraintKind, joint_warm_start

import kinemorph as km

pytestmark = pytest.mark.quick

CASES = [(seed, bodies) for seed in range(4) for bodies in (3, 10)]
Array = np.ndarray


def vectors(world: km.World) -> Array:
    """N s, of each contact of the last step, in world axes; those that sleep have none here."""
    found = np.full((len(world.collisions.contacts), 3), np.nan)
    for t in world.solver.contact_constraints:
        found[t["contact"]] = (
            t["normal_impulse"] * t["normal"]
            + t["tangent_impulse1"] * t["tangent1"]
            + t["tangent_impulse2"] * t["tangent2"]
        )
    return found


def moments(world: km.World) -> Array:
    found = np.zeros((len(world.collisions.contacts), 3))
    for r in world.solver.torsional_constraints:
        t = world.solver.contact_constraints[r["contact_constraint"]]
        found[t["contact"]] = (
            r["normal_impulse"] * t["normal"]
            + r["tangent_impulse1"] * t["tangent1"]
            + r["tangent_impulse2"] * t["tangent2"]
        )
    return found


def owners(world: km.World) -> list[tuple[int, int]]:
    """The shapes of each contact."""
    pairs = world.collisions.pairs
    return [(int(pairs["a"][c["pair"]]), int(pairs["b"][c["pair"]])) for c in world.collisions.contacts]


@pytest.mark.parametrize(("seed", "bodies"), CASES)
def test_a_contact_starts_from_the_world_vector_that_it_had(seed: int, bodies: int) -> None:
    """In its new frame, which turns with the bodies; a new contact starts from nothing."""
    world = let_settle(scene(seed, bodies=bodies), 40)
    again = new = 0
    for _ in range(20):
        before, shapes = vectors(world), owners(world)
        world.step()
        contacts, now = world.collisions.contacts, owners(world)
        for t in world.solver.contact_constraints:
            k = int(contacts["before"][t["contact"]])
            p = before[k] if k >= 0 else np.zeros(3)
            if k >= 0:
                assert shapes[k] == now[t["contact"]]
            if t["initial_separation"] >= 1.0:  # left out: nothing can move along it
                continue
            expected = max(0.0, float(t["normal"] @ p)), float(t["tangent1"] @ p), float(t["tangent2"] @ p)
            np.testing.assert_allclose(t["kept"], expected, rtol=1e-12, atol=1e-15)
            again, new = again + (k >= 0 and bool(p.any())), new + (k < 0)
    assert again > 20
    assert new > 0


@pytest.mark.parametrize(("seed", "bodies"), CASES)
def test_contacts_are_found_again_by_their_features(seed: int, bodies: int) -> None:
    """Of one pair, the same features are the same contact."""
    world = let_settle(scene(seed, bodies=bodies), 40)
    seen = 0
    for _ in range(10):
        before, shapes = world.collisions.contacts["id"].copy(), owners(world)
        parts = world.collisions.contacts[["part1", "part2"]].copy()
        world.step()
        contacts, now = world.collisions.contacts, owners(world)
        for k, contact in enumerate(contacts):
            same = [
                j for j in range(len(before))
                if shapes[j] == now[k] and before[j] == contact["id"] and before[j] >= 0
                and parts[j] == contact[["part1", "part2"]]
            ]  # fmt: skip
            if len(same) == 1:
                assert contact["before"] == same[0]
                seen += 1
    assert seen > 10


def test_impulses_outlive_a_step_that_turns_the_bodies() -> None:
    """A box at rest on a plane, and gravity: what it starts from bears its weight, and its new frame says the same."""
    world = km.World(sleep=False)
    world.add_ground()
    world.add(km.Shape.box((0.4, 0.3, 0.2)), (0.0, 0.0, 0.1), mass=3.0)
    world.run(1.0)
    world.step()
    started = sum(t["kept"][0] for t in world.solver.contact_constraints)
    substeps = int(world.solver.header["substeps"][0])
    assert started * substeps == pytest.approx(3.0 * 9.81 * world.dt, rel=1e-6)


def test_moments_start_from_their_world_vectors() -> None:
    """A rolling, spinning ball: what was kept is the impulse of the step before, or that of a contact that sleeps."""
    world = km.World(sleep=False)
    rough = km.Material(0.8, torsional=0.02, rolling=0.01, directions=6)
    world.add_ground(material=rough)
    for x in (0.0, 1.0):
        world.add(km.Shape.sphere(0.1), (x, 0.0, 0.1), twist=(3.0, 1.0, 20.0, 1.0, 0.0, 0.0), material=rough)
    world.step(20)
    before = moments(world)
    assert np.abs(before).max() > 1e-5
    room = int(world.solver.header["impulse_room"][0]) // 2
    half = room * (int(world.collisions.header["step"][0]) & 1)
    kept = world.solver["moments"].reshape(-1, 3)[half : half + len(before)]
    np.testing.assert_allclose(kept, before, rtol=1e-12)


# ------------------------------------------------------------------------------------------------------------- joints


def limb(friction: float = 2.0) -> tuple[km.World, km.Figure]:
    """Two links in a row on the base, level, one of which leans on its limit, both with dry friction."""
    builder = km.Builder("limb")
    for i, parent in enumerate((None, "l0")):
        joint = km.Joint.revolute("y", friction=friction, lower=-1.0, upper=0.0 if i else 1.0)
        place = km.Pose((0.5 * i, 0.0, 0.0))
        builder.link(f"l{i}", parent, joint, place, km.Inertia.box(1.0, (0.5, 0.1, 0.1), (0.25, 0.0, 0.0)))
    world = km.World(sleep=False)
    return world, world.add(builder.build())


def test_impulses_of_joints_are_kept_as_forces() -> None:
    world, figure = limb()
    world.step(5)
    h = float(world.solver.header["h"][0])
    seen = 0
    for b in world.solver.dof_constraints:
        id = figure.joint(f"l{b['dof']}")
        kept = world.solver["warm_joints"][id & 0xFFFFFFFF]["p"]
        assert kept[6 * b["kind"]] == pytest.approx(b["p"] / h)
        seen += b["p"] != 0.0
    assert seen >= 2


def test_joints_that_hold_start_from_what_they_held() -> None:
    """One iteration a substep has two joints in a row carry a load without a creep, for it starts from the answer."""
    world, _ = limb(friction=50.0)
    world.step(400)
    before = world.forest.state(int(world.forest.trees[0])).q
    world.step(100)
    after = world.forest.state(int(world.forest.trees[0]))
    np.testing.assert_allclose(after.q, before, atol=1e-10)
    np.testing.assert_allclose(after.v, 0.0, atol=1e-9)


@pytest.mark.parametrize("turned", [0, 1])
@pytest.mark.parametrize("nv", [1, 2])
@pytest.mark.parametrize("same", [True, False])
def test_the_sense_of_a_joint_turns_what_is_kept(same: bool, nv: int, turned: int) -> None:
    """Of one degree of freedom the limits change places and friction its sign; of several, and of a new joint,
    nothing is left."""
    world, figure = limb()
    world.step()
    id = figure.joint("l1")
    kept = world.solver["warm_joints"][id & 0xFFFFFFFF]
    p = np.arange(1.0, 19.0)
    kept["p"], kept["turned"] = p, 0
    kept["generation"] = (id >> 32) + (0 if same else 1)
    link = np.zeros(1, LINK)
    link["joint"], link["turned"], link["nv"] = id & 0xFFFFFFFF, turned, nv
    joint_warm_start(world.solver.address, world.forest.address, link.ctypes.data)
    expected = p.copy()
    if not same or (turned and nv > 1):
        expected[:] = 0.0
    elif turned:
        lower, upper, dry = (
            6 * int(what) for what in (DofConstraintKind.LOWER, DofConstraintKind.UPPER, DofConstraintKind.DRY)
        )
        expected[lower], expected[upper], expected[dry] = p[upper], p[lower], -p[dry]
    np.testing.assert_array_equal(kept["p"], expected)
    assert kept["turned"] == turned
    assert kept["generation"] == id >> 32
