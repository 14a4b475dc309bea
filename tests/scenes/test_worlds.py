"""Structure that changes in contact: what the scenes of worlds must come to."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from tests.scenes.restart import bits, goes_on_alike

import kinemorph as km
from kinemorph.scenes.commands.view_command import scene_of
from kinemorph.scenes.gallery import DEMOS
from kinemorph.scenes.structure import chain_bridge, dismount, glued_tower, gripper, train, walker_on_ground

G = 9.81
PERIOD, LENGTH = 0.734379, 0.53558  # s, m: of the walker whose feet are held by joints (test_walker)


# ------------------------------------------------------------------------------------------------------------- walker


@pytest.mark.parametrize("disturb", [(0.0, 0.0), (0.03, -0.04)])
def test_the_walker_walks_on_its_feet_as_it_does_held_by_joints(disturb: tuple[float, float]) -> None:
    """Steps of 0.25 ms are late at a strike by up to one of them; a foot of 1 mm rolls by 0.5 mm a step."""
    walk = walker_on_ground.walker(disturb)
    walk.world.run(30.0)
    assert len(walk.times) == pytest.approx(30.0 / PERIOD, abs=2)
    assert walk.periods[-20:].mean() == pytest.approx(PERIOD, abs=1e-3)
    assert walk.lengths[-20:].mean() == pytest.approx(LENGTH, abs=1.5e-3)
    assert np.abs(walk.periods[-20:] - PERIOD).max() < 3e-3


def test_the_foot_that_stands_neither_slips_nor_sinks() -> None:
    walk = walker_on_ground.walker()
    feet = []
    walk.world.every(0.01, lambda world: feet.append((world.time, walk.foot("a"), walk.foot("b"))))
    walk.world.run(8.0)
    for k in range(4, 8):
        times = walk.times[k], walk.times[k + 1]
        stance = np.array([f[1:] for f in feet if times[0] + 0.01 < f[0] < times[1] - 0.01])
        spans = np.ptp(stance, axis=0).max(axis=1)  # of both feet: one of them stands
        assert spans.min() < 1.5e-3  # rolling on a radius of 1 mm
        still = stance[:, int(spans.argmin())]
        assert (still @ walker_on_ground.NORMAL).min() > -1e-4


# ----------------------------------------------------------------------------------------------------------- dismount


@pytest.fixture(scope="module")
def landing() -> dict[str, Any]:
    scene = dismount.dismount()
    flight: list[Any] = []
    loops = [0.0]

    def look(world: km.World) -> None:
        loops[0] = max(loops[0], world.forest.loop_errors()[0])
        if 1.45 < world.time < 2.1:
            flight.append((world.time, *scene.centre()))

    scene.world.every(0.01, look)
    scene.world.run(6.0)
    return {"scene": scene, "flight": np.array(flight), "loops": loops[0]}


def test_the_gymnast_lets_go_flies_and_lands(landing: dict[str, Any]) -> None:
    times, names = zip(*landing["scene"].told, strict=True)
    assert names[:2] == ("the right hand lets go", "the left hand lets go")
    assert names[2].startswith("lands on the")
    assert times[:2] == pytest.approx((dismount.RIGHT, dismount.LEFT), abs=1e-9)
    assert landing["loops"] < 1e-9


def test_in_the_air_the_centre_of_mass_flies_a_parabola(landing: dict[str, Any]) -> None:
    """The joints' springs move the limbs all the while; steps of 1 ms keep momentum to their own order."""
    flight = landing["flight"]
    t = flight[:, 0] - flight[0, 0]
    for axis, acceleration in ((1, 0.0), (2, 0.0), (3, -G)):
        x = flight[:, axis] - 0.5 * acceleration * t**2
        line = np.polynomial.Polynomial.fit(t, x, 1)
        np.testing.assert_allclose(x, line(t), atol=2e-3)


def test_it_comes_to_rest_on_the_mat(landing: dict[str, Any]) -> None:
    scene = landing["scene"]
    top = dismount.MAT[2]
    assert top < scene.centre()[2] < top + 0.4
    assert max(np.linalg.norm(body.velocity) for body in scene.figure) < 0.02
    weight = sum(touch.force[2] for touch in scene.world.contacts(scene.world["mat"]))
    assert -weight == pytest.approx(scene.mass * G, rel=1e-2)
    assert min(touch.distance for touch in scene.world.contacts()) > -1e-3


# ------------------------------------------------------------------------------------------------------------ gripper


def test_the_gripper_takes_carries_and_drops_the_brick() -> None:
    scene = gripper.gripper()
    held = []

    def look(world: km.World) -> None:
        if 1.3 < world.time < 5.9:
            held.append((scene.figure["hand"].pose.inverse() @ scene.brick.pose).matrix())

    scene.world.every(0.1, look)
    scene.world.run(8.0)
    assert [what for _, what in scene.told][-3:] == ["takes the brick", "drops it", "the brick lands"]
    taken, dropped, landed = (t for t, _ in scene.told[-3:])
    assert 0.8 < taken < 1.2
    assert dropped == pytest.approx(gripper.LET_GO, abs=1e-9)
    np.testing.assert_allclose(held, np.broadcast_to(held[0], np.shape(held)), atol=1e-12)  # one joint, which is fixed
    fall = np.sqrt(2.0 * (scene.brick_height - 0.5 * gripper.BRICK[2]) / G)
    assert landed - dropped == pytest.approx(fall, abs=3e-3)  # to a step; motors still hold the arm
    np.testing.assert_allclose(scene.brick.position, (*gripper.TO, 0.5 * gripper.BRICK[2]), atol=0.01)
    assert scene.brick.asleep
    assert scene.grip is not None
    assert not scene.world.forest.has_joint(scene.grip.joint)


# -------------------------------------------------------------------------------------------------------------- train


def test_coupling_and_uncoupling_keep_momentum() -> None:
    scene = train.train()
    drift = []

    def look(world: km.World) -> None:
        if 0.1 < world.time <= train.UNCOUPLE:
            drift.append(scene.momentum() - train.FORCE * min(world.time, train.PUSHED))

    scene.world.every(0.05, look)
    scene.world.run(8.0)
    total = train.FORCE * train.PUSHED
    assert set(scene.couplings) == {"wagon 1", "wagon 2", "wagon 3"}
    assert len(scene.jumps) == 4
    assert max(map(abs, scene.jumps)) < 1e-10 * total
    assert max(change.momentum_error for change in scene.couplings.values()) < 1e-10 * total
    assert all(change.energy_lost > 0.0 for change in scene.couplings.values())
    assert np.abs(drift).max() < 1e-7 * total  # steps, in which wagons hit each other, too


def test_wagons_have_the_speeds_that_momentum_gives_them() -> None:
    scene = train.train()
    scene.world.run(train.UNCOUPLE - 0.1)
    total = train.FORCE * train.PUSHED
    together = total / sum(train.MASSES)
    np.testing.assert_allclose([body.velocity[0] for body in scene.wagons], together, rtol=1e-6)
    scene.world.run(1.1)
    np.testing.assert_allclose([body.velocity[0] for body in scene.wagons[2:]], together, rtol=1e-6)
    braked = together - train.FORCE * 1.0 / sum(train.MASSES[:2])
    np.testing.assert_allclose([body.velocity[0] for body in scene.wagons[:2]], braked, atol=1e-5)


def test_a_coupling_takes_the_speed_that_the_buffers_leave() -> None:
    scene = train.train()
    scene.world.run(2.0)
    change = scene.couplings["wagon 1"]
    a, b = train.MASSES[:2]
    speed = train.FORCE * train.PUSHED / a
    apart = train.RESTITUTION * speed  # after the buffers have sprung back
    assert abs(change.impulse[3]) == pytest.approx(a * b / (a + b) * apart, rel=1e-6)
    assert change.energy_lost == pytest.approx(0.5 * a * b / (a + b) * apart**2, rel=1e-6)


# ------------------------------------------------------------------------------------------------------------- bridge


def test_the_bridge_hangs_by_itself_and_bears_its_weight() -> None:
    scene = chain_bridge.bridge()
    scene.world.run(1.45)
    assert not scene.broken
    weight = G * (sum(p.mass for p in scene.planks) + scene.world["light"].mass)
    end = scene.world.queries.loop_force(scene.hinges[f"hinge {chain_bridge.COUNT}"])
    assert end[5] == pytest.approx(0.5 * weight, rel=0.02)  # it still sways a little
    loads = [watch.value for watch in scene.world.monitors if watch.event.name in scene.hinges]
    assert loads[0] == pytest.approx(np.linalg.norm(end[3:]), rel=0.02)  # it is the same from both sides
    assert loads[0] > np.linalg.norm(end[3:5]) > 0.0
    assert scene.world.forest.loop_errors()[0] < 1e-9


def test_the_bridge_breaks_link_by_link() -> None:
    scene = chain_bridge.bridge()
    scene.world.run(4.0)
    times = [t for t, _, _ in scene.broken]
    assert len(scene.broken) >= 4
    assert (np.diff(times) > 0.0).all()  # one at a time
    assert all(force > scene.strength for _, _, force in scene.broken)
    assert 1.8 < times[0] < 1.95  # 0.3 s after the heavy weight came
    first = scene.broken[0][1]
    assert first in {"hinge 6", "hinge 7"}  # where that fell
    assert not any(scene.world.forest.has_joint(scene.hinges[name]) for _, name, _ in scene.broken)
    assert min(p.position[2] for p in scene.planks) > 0.0


def test_a_bridge_of_steel_does_not_break() -> None:
    scene = chain_bridge.bridge(strength=1e6)
    scene.world.run(2.5)
    assert not scene.broken
    assert scene.world["heavy"].position[2] > 0.8
    assert scene.world.forest.loop_errors()[0] < 1e-9


# -------------------------------------------------------------------------------------------------------------- tower


def test_the_tower_stands_under_its_own_weight() -> None:
    scene = glued_tower.tower(speed=0.0)
    scene.world.remove(scene.ball)
    scene.world.run(1.5)
    assert not scene.broken
    assert scene.parts == 1
    assert all(brick.asleep for brick in scene.bricks)


def test_glue_breaks_where_the_ball_hits() -> None:
    scene = glued_tower.tower()
    scene.world.run(1.5)
    times = [t for t, _, _ in scene.broken]
    reach = 1.5 - glued_tower.BALL - 0.5 * glued_tower.BRICK[0]
    assert times[0] == pytest.approx(reach / glued_tower.SPEED, abs=3e-3)
    assert all(force > scene.strength for _, _, force in scene.broken)
    assert scene.parts >= 3
    assert min(brick.position[2] for brick in scene.bricks) > 0.04  # nothing fell through the ground


def test_a_soft_hit_breaks_nothing_and_moves_all_bricks_as_one() -> None:
    scene = glued_tower.tower(speed=12.0, strength=1e9)
    before = [scene.bricks[0].pose.inverse() @ brick.pose for brick in scene.bricks]
    scene.world.run(0.5)
    assert not scene.broken
    after = [scene.bricks[0].pose.inverse() @ brick.pose for brick in scene.bricks]
    np.testing.assert_allclose([p.matrix() for p in after], [p.matrix() for p in before], atol=1e-9)


# ------------------------------------------------------------------------------------------------------------ restart


SCENES: dict[str, tuple[Callable[[], Any], float, float]] = {
    "walker": (walker_on_ground.walker, 2.0, 2.0),
    "dismount, one hand on the bar": (dismount.dismount, 1.2, 1.5),
    "dismount, in the air": (dismount.dismount, 1.7, 1.0),
    "gripper, before it takes": (gripper.gripper, 0.5, 1.0),
    "gripper, carrying": (gripper.gripper, 3.0, 3.5),
    "train, one coupled": (train.train, 1.6, 1.5),
    "train, uncoupled": (train.train, 6.1, 1.0),
    "bridge, whole": (chain_bridge.bridge, 1.6, 1.0),
    "bridge, broken": (chain_bridge.bridge, 2.3, 0.7),
    "tower, before the hit": (glued_tower.tower, 0.05, 0.6),
    "tower, in pieces": (glued_tower.tower, 0.3, 0.4),
}


@pytest.mark.parametrize("name", SCENES)
def test_a_scene_goes_on_from_its_middle_as_if_it_had_not_stopped(name: str) -> None:
    make, before, after = SCENES[name]
    scene = make()
    scene.world.run(before)
    goes_on_alike(scene.world, after)
    again = make()
    again.world.run(before + after)
    assert bits(again.world) == bits(scene.world)


@pytest.mark.parametrize("name", [name for name, demo in DEMOS.items() if demo.in_world])
@pytest.mark.parametrize("how", ["cut", "remove"])
def test_whoever_looks_on_may_cut_and_remove_what_there_is(name: str, how: str) -> None:
    """The viewer offers both; controllers fell over servos and bodies that were gone, at every step anew."""
    world, kept = scene_of(name)
    world.step(5)
    if how == "cut":
        for joint in world.forest.joints.tolist():
            with suppress(ValueError):  # a leg that is a point mass may not fly by itself, and is not cut off
                if joint in world.forest.joints:
                    world.cut(joint)
    else:
        for body in world.bodies[:3]:
            if body.name in world:  # else what carried it is gone
                world.remove(body)
    world.run(0.25)
    assert np.isfinite(world.queries.energy().total)
    assert kept is not None
