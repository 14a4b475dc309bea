"""Loops in worlds: they stay closed while what they tie together falls, touches, is joined, cut and torn at."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import kinemorph as km
from kinemorph.contact.layout import LOOP_PROJECTION
from kinemorph.jit.api import rows_at
from kinemorph.scenes.robots import mechanisms

pytestmark = pytest.mark.quick

CLOSED = 1e-9  # rad, m, rad/s and m/s
HINGE, BALL = km.Joint.revolute("y"), km.Joint.spherical()


def bare(model: km.Model) -> km.Model:
    """The same model without shapes."""
    return model._like(catalog=replace(model.catalog, shapes=tuple(() for _ in model.catalog.shapes), base_shapes=()))


def energy(world: km.World) -> float:
    return world.forest.kinetic_energy() + world.forest.potential_energy()


def run(world: km.World, seconds: float) -> None:
    """Step by step, with all loops closed after each."""
    for _ in range(round(seconds / world.dt)):
        world.step()
        gap, speed = world.forest.loop_errors()
        assert gap < CLOSED, (world.time, gap)
        assert speed < CLOSED, (world.time, speed)


def state_of(world: km.World, figure: km.Figure) -> tuple[np.ndarray, np.ndarray]:
    """q and v of a figure in the order of its model."""
    joints = [figure.joint(name) for name in figure.model.joint_names]
    return (
        np.concatenate([world.forest.position(j) for j in joints]),
        np.concatenate([world.forest.velocity(j) for j in joints]),
    )


def all_of(world: km.World) -> np.ndarray:
    return np.concatenate([np.r_[world.forest.state(t).q, world.forest.state(t).v] for t in world.forest.trees])


def bar(length: float) -> tuple[km.Inertia, km.Shape]:
    at = km.Pose.turn((0, 1, 0), np.pi / 2, (0.5 * length, 0.0, 0.0))
    return km.Inertia.box(length, (length, 0.04, 0.04), (0.5 * length, 0, 0)), km.Shape.capsule(0.02, length, at)


def square(side: float = 0.4) -> km.Model:
    """Four bars in a floating frame, with a hinge at each corner: a planar mechanism, so that rows are redundant."""
    b = km.Builder("square")
    b.link("0", None, km.Joint.free(), (0, 0, 0), *bar(side))
    for i in range(1, 4):
        b.link(str(i), str(i - 1), HINGE, (side, 0, 0), *bar(side))
    b.loop("3", "0", HINGE, (side, 0, 0), (0, 0, 0), "pin")
    return b.build()


SQUARE = np.r_[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, np.full(3, -np.pi / 2)]


def ring(world: km.World, n: int, centre: tuple[float, float, float], lone: bool) -> list[km.Body]:
    """A necklace of capsules: a chain of balls that a loop closes, or bodies of their own that only loops tie."""
    radius = 0.04
    reach = 0.06 / (2.0 * np.sin(np.pi / n)) * 2.0
    beads = []
    for i in range(n):
        angle = 2.0 * np.pi * i / n
        at = np.array([np.cos(angle), np.sin(angle), 0.0]) * reach * np.cos(np.pi / n)
        along = np.array([-np.sin(angle), np.cos(angle), 0.0])
        side = np.cross((0.0, 0.0, 1.0), along)
        pose = km.Pose(at + centre, np.stack([side, np.cross(along, side), along], axis=1))
        beads.append(world.add(km.Shape.capsule(0.4 * radius, 0.06, None), at=pose, name=f"bead {i}"))
    for i in range(n):
        angle = 2.0 * np.pi * (i + 0.5) / n
        at = np.array([np.cos(angle), np.sin(angle), 0.0]) * reach + centre
        how = "loop" if lone else "auto"
        change = world.connect(beads[i], beads[(i + 1) % n], BALL, at=at, how=how)
        assert change.closes == (lone or i == n - 1)
    return beads


# ------------------------------------------------------------------------------------------------------ without contact


@pytest.mark.parametrize("name", ["four_bar", "slider_crank", "bennett", "stewart", "delta", "two_arms"])
def test_mechanisms_move_as_they_do_without_a_world(name):
    scene = getattr(mechanisms, name)()
    model = bare(scene.model)
    seconds = 0.2
    exact = km.rollout(model, km.Data(model), scene.q, np.zeros(model.nv), dt=1e-3, steps=200, every=200)
    apart = []
    for dt in (4e-3, 2e-3, 1e-3):
        world = km.World(model.gravity, dt=dt, sleep=False)
        figure = world.add(model, q=scene.q)
        run(world, seconds)
        q, _ = state_of(world, figure)
        apart.append(np.abs(km.difference(model, exact.q[-1], q)).max())
    assert apart[0] < 0.02
    assert apart[1] < 0.6 * apart[0]
    assert apart[2] < 0.6 * apart[1]


@pytest.mark.parametrize("dt", [2e-3, 5e-3])
def test_a_pendulum_in_a_loop_keeps_its_energy(dt):
    """To the order of a step, and no worse after a while."""
    b = km.Builder("pendulum")
    b.link("bob", None, km.Joint.free(), inertia=km.Inertia.box(1.0, (0.1, 0.1, 0.6), (0, 0, -0.3)))
    b.loop(None, "bob", HINGE, name="pivot")
    world = km.World(dt=dt, sleep=False)
    world.add(b.build(), q=np.r_[0, 0, 0, np.cos(0.5), 0, np.sin(0.5), 0])
    start, errors = energy(world), []
    for _ in range(round(6.0 / dt)):
        world.step()
        errors.append(abs(energy(world) - start))
    assert world.forest.loop_errors() < (CLOSED, CLOSED)
    assert max(errors) < 3.5 * dt  # J, of 1.35 J that it swings with
    assert max(errors) < 1.02 * max(errors[: len(errors) // 3])


def test_a_floating_ring_is_pushed_on():
    world = km.World(gravity=(0, 0, 0), sleep=False)
    beads = ring(world, 6, (0.0, 0.0, 0.0), lone=False)
    before = world.forest.momentum()
    push = world.apply_force(beads[0], force=(2.0, 1.0, 0.0))
    world.run(0.5)
    push.withdraw()
    gained = world.forest.momentum() - before
    assert gained[3:] == pytest.approx([1.0, 0.5, 0.0], rel=0.02, abs=1e-6)  # joints keep it to the order of a step
    world.run(0.5)
    assert world.forest.momentum()[3:] == pytest.approx((before + gained)[3:], rel=0.01, abs=1e-9)


@pytest.mark.parametrize("lone", [False, True])
@pytest.mark.parametrize("gravity", [0.0, -9.81])
def test_a_ring_in_free_flight_keeps_its_momentum_and_falls_as_one(lone, gravity):
    world = km.World((0, 0, gravity), sleep=False)
    beads = ring(world, 6, (0.0, 0.0, 5.0), lone)
    rng = np.random.default_rng(0)
    for tree in world.forest.trees:
        v = world.forest.state(tree).v
        world.forest.set_state(tree, v=rng.normal(size=len(v)))
    world.step()  # whose projection makes the velocities those of a ring
    mass = sum(bead.mass for bead in beads)

    def centre() -> np.ndarray:
        return sum(bead.mass * bead.position for bead in beads) / mass

    c, p, t = centre(), world.forest.momentum(), world.time
    start = energy(world)
    run(world, 0.5)
    t = world.time - t
    v = p[3:] / mass
    assert centre() == pytest.approx(c + v * t + 0.5 * t * t * np.array([0, 0, gravity]), abs=1e-10)
    after = world.forest.momentum()
    assert after[3:] == pytest.approx(p[3:] + mass * t * np.array([0, 0, gravity]), abs=1e-10)
    assert after[:3] - np.cross(centre(), after[3:]) == pytest.approx(p[:3] - np.cross(c, p[3:]), abs=1e-10)
    assert energy(world) == pytest.approx(start, rel=0.02)


def test_a_stretched_linkage_does_not_blow_up():
    """A parallelogram passes where it is flat, and could go on in two ways."""
    scene = mechanisms.four_bar(0.3, 0.9, 0.3, 0.9, 1.2)
    world = km.World(sleep=False)
    figure = world.add(bare(scene.model), q=scene.q)
    start = energy(world)
    for _ in range(1500):
        world.step()
        assert world.forest.loop_errors()[0] < CLOSED
    assert energy(world) < start + 0.2
    assert np.isfinite(state_of(world, figure)[1]).all()


def test_a_chain_that_is_pulled_straight_stays_closed():
    """Two balls hold a chain that is exactly as long as they are apart: nothing may move, and rows are dependent."""
    b = km.Builder("taut")
    for i in range(4):
        b.link(str(i), str(i - 1) if i else None, BALL, (0.25 if i else 0.0, 0, 0), *bar(0.25))
    b.loop(None, "3", BALL, (1.0, 0, 0), (0.25, 0, 0), "end")
    world = km.World(sleep=False)
    world.add(bare(b.build()))
    for _ in range(500):
        world.step()
        assert world.forest.loop_errors()[0] < 1e-6
    assert world.forest.kinetic_energy() < 1.0


# --------------------------------------------------------------------------------------------------------- with contact


def test_a_square_of_bars_falls_on_the_ground():
    world = km.World()
    world.add_ground()
    figure = world.add(square(), at=km.Pose.turn((0, 1, 0), 0.3, (0, 0, 0.8)), q=SQUARE)
    start = energy(world)
    run(world, 1.5)
    assert energy(world) < start
    assert min(body.pose.apply((x, 0, 0))[2] for body in figure for x in (0.0, 0.4)) > 0.018


@pytest.mark.parametrize("lone", [False, True])
def test_a_necklace_falls_over_a_pole_and_sleeps(lone):
    world = km.World()
    world.add_ground()
    b = km.Builder("pole")
    b.link("pole", None, km.Joint.fixed(), shapes=[km.Shape.capsule(0.03, 0.5, km.Pose((0.3, 0, 0.25)))])
    world.add(b.build())
    beads = ring(world, 20, (0.0, 0.0, 0.4), lone)
    start = energy(world)
    run(world, 1.5)
    assert energy(world) < start
    assert all(bead.position[2] > 0.0 for bead in beads)
    for _ in range(10):
        if all(bead.asleep for bead in beads):
            break
        world.run(1.0)
    assert all(bead.asleep for bead in beads)
    assert world.forest.loop_errors() < (CLOSED, CLOSED)
    world.sleep.wake(beads[3])
    world.step()
    assert not any(bead.asleep for bead in beads)


def test_a_loop_is_closed_between_bodies_that_lie_on_the_ground():
    world = km.World()
    world.add_ground()
    boxes = [world.add(km.Shape.box((0.2, 0.2, 0.2)), at=(0.25 * i, 0, 0.1)) for i in range(3)]
    world.run(0.1)
    for i in range(2):
        world.connect(boxes[i], boxes[i + 1], km.Joint.revolute("z"), at=(0.25 * i + 0.125, 0.1, 0.1), how="loop")
    world.forest.set_state(world.forest.tree_of(boxes[2].id), v=[0, 0, 0, 0, 2.0, 0])
    world.step()
    run(world, 1.0)
    assert all(box.position[2] == pytest.approx(0.1, abs=1e-4) for box in boxes)
    assert boxes[0].asleep == boxes[2].asleep


@pytest.mark.parametrize("how", ["auto", "loop"])
def test_a_brick_that_an_arm_grabs_at_speed_is_not_pushed_into_the_ground(how):
    world = km.World(gravity=(0, 0, 0), sleep=False)
    world.add_ground()
    brick = world.add(km.Shape.box((0.4, 0.2, 0.1)), at=(0, 0, 0.05))
    hand = world.add(km.Shape.sphere(0.05), at=(0, 0, 0.3), twist=(0, 0, 0, 0.5, 0, -3.0))
    before = world.forest.momentum()
    change = world.connect(hand, brick, km.Joint.fixed(), how=how)
    assert change.closes == (how == "loop")
    assert world.forest.momentum() == pytest.approx(before, abs=1e-10)  # the joint's impulse is inside
    pushed = np.zeros(3)
    for _ in range(100):
        world.step()
        for touch in world.contacts(brick):
            pushed += touch.impulse
        assert min(brick.pose.apply((x, y, -0.05))[2] for x in (-0.2, 0.2) for y in (-0.1, 0.1)) > -3e-4
        assert world.forest.loop_errors() < (CLOSED, CLOSED)
    # two bodies keep their momentum to rounding, a floating tree to the order of a step
    assert world.forest.momentum()[3:] == pytest.approx(before[3:] + pushed, abs=1e-9 if how == "loop" else 1e-3)
    assert pushed[2] > 0.9 * -before[5]


def test_loops_are_hard_under_a_heavy_load():
    """A table of four legs on a closed frame of hinges carries fifty times its mass."""
    world = km.World()
    world.add_ground()
    side = 0.5
    legs = [
        world.add(km.Shape.box((0.06, 0.06, 0.4)), at=(x, y, 0.2), density=300.0)
        for x, y in ((0, 0), (side, 0), (side, side), (0, side))
    ]
    for i in range(4):
        a, b = legs[i], legs[(i + 1) % 4]
        world.connect(a, b, km.Joint.fixed(), at=0.5 * (a.position + b.position), how="loop")
    top = world.add(km.Shape.box((0.8, 0.8, 0.1)), at=(0.5 * side, 0.5 * side, 0.45), density=1000.0)
    run(world, 1.0)
    assert top.position[2] == pytest.approx(0.45, abs=1e-3)
    force = sum(touch.force[2] for leg in legs for touch in world.contacts(leg) if touch.other is None)
    weight = 9.81 * (top.mass + sum(leg.mass for leg in legs))
    assert force == pytest.approx(weight, rel=1e-3) or top.asleep


@pytest.mark.parametrize("name", ["four_bar", "stewart", "delta", "two_arms"])
def test_loops_bear_what_forward_dynamics_says(name):
    scene = getattr(mechanisms, name)()
    model = bare(scene.model)
    data = km.Data(model)
    km.forward_dynamics(model, data, scene.q, np.zeros(model.nv), np.zeros(model.nv))
    world = km.World(model.gravity, sleep=False)
    figure = world.add(model, q=scene.q)
    world.step()
    found = [world.queries.loop_force(figure.joint(loop)) for loop in model.loop_names]
    assert np.array(found) == pytest.approx(data.wrenches, abs=1e-7 * np.abs(data.wrenches).max())


def test_rows_have_no_part_in_what_loops_forbid():
    world = km.World(sleep=False)
    world.add_ground()
    figure = world.add(square(), at=km.Pose.turn((0, 1, 0), 0.3, (0, 0, 0.45)), q=SQUARE)
    while not world.contacts():
        q, _ = state_of(world, figure)
        world.step()
    s = world.solver.header[0]
    hold = rows_at(int(s["loop_projections"]), int(s["loop_projection_count"]), LOOP_PROJECTION)[0]
    rank, nz = int(hold["rank"]), int(hold["nz"])
    assert rank == np.linalg.matrix_rank(km.loop_jacobian(figure.model, km.Data(figure.model), q), tol=1e-6) == 2
    Q = rows_at(int(hold["Q"]), rank * nz, np.dtype(np.float64)).reshape(rank, nz)
    np.testing.assert_allclose(Q @ Q.T, np.eye(rank), atol=1e-14)
    Y = world.solver["Y"]
    for t in world.solver.contact_constraints:
        assert (t["offset2"], t["length1"] + t["length2"]) == (hold["offset"], nz)
        assert Y[t["y"] : t["y"] + 3 * nz].reshape(3, nz) @ Q.T == pytest.approx(np.zeros((3, rank)), abs=1e-13)


def test_a_loop_says_what_it_bears():
    """A plank that a loop fixes to the world at one end, with a load that lies on the other."""
    world = km.World()
    plank = world.add(km.Shape.box((1.0, 0.2, 0.05)), at=(0.5, 0, 1.0))
    clamp = world.connect(None, plank, km.Joint.fixed(), at=(0, 0, 1.0), how="loop")
    world.step()
    weight = 9.81 * plank.mass
    assert world.queries.loop_force(clamp) == pytest.approx([0, -0.5 * weight, 0, 0, 0, weight], abs=1e-8)
    load = world.add(km.Shape.box((0.2, 0.2, 0.2)), at=(0.8, 0, 1.125))
    world.run(1.0)
    more = 9.81 * load.mass
    expected = np.array([0, -0.5 * weight - 0.8 * more, 0, 0, 0, weight + more])
    assert world.queries.loop_force(clamp) == pytest.approx(expected, abs=1e-3 * expected[5])
    with pytest.raises(ValueError, match="closes no loop"):
        world.queries.loop_force(world.forest.joint_of(load.id))


def test_a_contact_that_loops_make_immovable_does_no_harm():
    world = km.World()
    world.add_ground()
    box = world.add(km.Shape.box((0.2, 0.2, 0.2)), at=(0, 0, 0.0999))
    world.connect(None, box, km.Joint.fixed(), how="loop")
    ball = world.add(km.Shape.sphere(0.1), at=(0.05, 0, 0.35))
    run(world, 1.0)
    assert box.position == pytest.approx([0, 0, 0.0999], abs=1e-9)
    assert np.isfinite(ball.position).all()


def test_redundant_loops_hold_and_bear():
    """Two bodies tied three times over: all but one of the joints are redundant."""
    world = km.World()
    world.add_ground()
    a = world.add(km.Shape.box((0.2, 0.2, 0.2)), at=(0, 0, 0.5))
    b = world.add(km.Shape.box((0.2, 0.2, 0.2)), at=(0.3, 0, 0.5), twist=(0, 1.0, 0, 0, 0, 2.0))
    world.connect(a, b, km.Joint.fixed())
    for x in (0.1, 0.2):
        assert world.connect(a, b, km.Joint.fixed(), at=(x, 0, 0.5)).closes
    apart = b.position - a.position
    run(world, 1.0)
    assert np.linalg.norm(b.position - a.position) == pytest.approx(np.linalg.norm(apart), abs=1e-9)


# ------------------------------------------------------------------------------------------------- structure and copies


def test_a_loop_is_cut_while_it_touches():
    world = km.World()
    world.add_ground()
    figure = world.add(square(), at=km.Pose.turn((0, 1, 0), 0.3, (0, 0, 0.5)), q=SQUARE)
    run(world, 0.35)
    assert world.contacts()
    world.cut(figure.joint("pin"))
    assert world.forest.loop_errors() == (0.0, 0.0)
    world.run(1.0)
    gap = figure["3"].pose.apply((0.4, 0, 0)) - figure["0"].position
    assert np.linalg.norm(gap) > 0.01
    assert all(np.isfinite(body.position).all() and body.position[2] > 0.0 for body in figure)


def test_bodies_that_a_loop_ties_do_not_meet_until_it_is_cut():
    world = km.World(gravity=(0, 0, 0))
    a = world.add(km.Shape.sphere(0.1))
    b = world.add(km.Shape.sphere(0.1), at=(0.15, 0, 0))
    tie = world.connect(a, b, km.Joint.fixed(), how="loop")
    run(world, 0.1)
    assert b.position[0] - a.position[0] == pytest.approx(0.15, abs=1e-9)
    assert not world.contacts()
    world.cut(tie)
    world.run(0.5)
    assert b.position[0] - a.position[0] > 0.199


def test_a_tree_joint_that_is_cut_leaves_the_loop_to_carry():
    world = km.World()
    world.add_ground()
    figure = world.add(square(), at=(0, 0, 0.8), q=SQUARE)
    run(world, 0.1)
    world.cut(figure.joint("2"))
    world.run(0.1)
    gap = figure["3"].pose.apply((0.4, 0, 0)) - figure["0"].position
    assert np.linalg.norm(gap) < 1e-9
    assert world.forest.loop_errors() == (0.0, 0.0)


def test_a_mechanism_is_rerooted_while_it_falls():
    world = km.World()
    world.add_ground()
    figure = world.add(square(), at=km.Pose.turn((0, 1, 0), 0.3, (0, 0, 0.6)), q=SQUARE)
    run(world, 0.2)
    before = np.array([body.position for body in figure])
    change = world.reroot(figure["2"])
    assert change.pose_error < 1e-9
    assert np.array([body.position for body in figure]) == pytest.approx(before, abs=1e-9)
    run(world, 1.0)


def test_removing_a_body_takes_its_loops_along():
    world = km.World()
    world.add_ground()
    beads = ring(world, 6, (0, 0, 0.3), True)
    run(world, 0.5)
    world.remove(beads[2])
    run(world, 0.5)
    assert len(world.bodies) == 5


def test_what_a_loop_held_falls_when_its_other_body_is_gone():
    world = km.World()
    post = world.add(km.Shape.box((0.1, 0.1, 0.1)), at=(0, 0, 1))
    world.connect(None, post, km.Joint.fixed())
    bob = world.add(km.Shape.sphere(0.1), at=(0, 0, 0.5))
    world.connect(post, bob, BALL, at=(0, 0, 1), how="loop")
    world.run(1.0)
    assert bob.asleep
    world.remove(post)
    world.run(0.2)
    assert bob.position[2] == pytest.approx(0.5 - 0.5 * 9.81 * 0.04, abs=0.01)


def test_a_branch_with_loops_goes_the_same_way_bit_for_bit():
    world = km.World()
    world.add_ground()
    world.add(square(), at=km.Pose.turn((0, 1, 0), 0.3, (0, 0, 0.5)), q=SQUARE)
    ring(world, 6, (1.0, 0, 0.3), True)
    world.run(0.3)
    other = world.branch()
    for _ in range(5):
        world.run(0.1)
        other.step(50)
        assert np.array_equal(all_of(world), all_of(other))


def test_an_open_loop_is_refused_by_name():
    world = km.World()
    with pytest.raises(km.LoopError, match=r"'pin' is open by"):
        world.add(square())
    scene = mechanisms.four_bar()
    figure = world.add(scene.model, q=scene.q + 1e-5)
    assert world.forest.loop_errors()[0] < CLOSED
    assert figure.joint("pin") in world.forest.joints


def test_a_mechanism_sleeps_as_one_and_wakes_as_one():
    world = km.World()
    world.add_ground()
    beads = ring(world, 5, (0, 0, 0.02), True)
    world.run(3.0)
    assert all(bead.asleep for bead in beads)
    world.add(km.Shape.sphere(0.05), at=(beads[0].position[0], beads[0].position[1], 0.3))
    world.run(0.4)
    assert not any(bead.asleep for bead in beads)
    assert world.forest.loop_errors() < (CLOSED, CLOSED)


# -------------------------------------------------------------------------------------------------------- random worlds


def random_world(seed: int) -> km.World:
    rng = np.random.default_rng(seed)
    world = km.World(dt=float(rng.choice([1e-3, 2e-3, 5e-3])), sleep=bool(rng.integers(2)))
    world.add_ground()
    bodies = []
    for _ in range(rng.integers(2, 9)):
        size = 10.0 ** rng.uniform(-1.5, -0.3, 3)
        shape = [km.Shape.box(size), km.Shape.sphere(size[0]), km.Shape.capsule(size[0], size[1])][rng.integers(3)]
        at = km.Pose.turn(rng.normal(size=3), rng.uniform(0, 3), rng.uniform(-0.5, 0.5, 3) + (0, 0, 0.7))
        twist = rng.normal(size=6) * 10.0 ** rng.uniform(-1, 1.3)
        bodies.append(world.add(shape, at=at, twist=twist, density=10.0 ** rng.uniform(1, 4)))
    joints = [km.Joint.fixed(), HINGE, BALL, km.Joint.prismatic("x"), km.Joint.universal("x", "y")]
    for _ in range(rng.integers(1, 9)):
        a, b = rng.choice(len(bodies), 2, replace=False)
        first = None if rng.random() < 0.15 else bodies[a]
        how = "loop" if rng.random() < 0.7 else "auto"
        world.connect(first, bodies[b], joints[rng.integers(5)], how=how)
    return world


@pytest.mark.filterwarnings("ignore:world. at .* there are bodies deep in each other")
@pytest.mark.parametrize("seed", range(25))
def test_random_worlds_with_loops_stay_finite_and_closed(seed):
    world = random_world(seed)
    worst = 0.0
    for _ in range(150):
        world.step()
        worst = max(worst, world.forest.loop_errors()[0])
    assert worst < 1e-6  # where loops contradict each other nothing closes them exactly
    assert np.isfinite(all_of(world)).all()
