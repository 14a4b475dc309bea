"""The demonstrations with contact made of impulses: the same physics as with the other contact model."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kinemorph.scenes.gallery import DEMOS
from kinemorph.scenes.thesis import (
    bouncing_balls,
    brick_wall,
    car_track,
    coin_toss,
    demolition,
    domino_track,
    friction_cubes,
    marble_run,
    wall_and_car,
)

G = 9.81


def made(name: str, *arguments: Any) -> Any:
    return DEMOS[name].make(*arguments, **DEMOS[name].by_impulses)


def gained(scene: friction_cubes.Cubes, seconds: float) -> list[float]:
    """m/s, how much faster each cube gets in so much time."""
    before = [float(np.linalg.norm(cube.velocity)) for cube in scene.cubes]
    scene.world.run(seconds)
    return [float(np.linalg.norm(cube.velocity)) - v for cube, v in zip(scene.cubes, before, strict=True)]


def test_cubes_slide_as_coulomb_says_and_the_critical_one_stays() -> None:
    scene = made("friction")
    scene.world.run(0.1)
    np.testing.assert_allclose(gained(scene, 1.0)[:-1], 2.0 * np.array(scene.expected(1.0)[:-1]), rtol=0.01)
    scene.world.run(2.0)
    settled = scene.slid()[-1]
    assert abs(settled) < 5e-3  # it comes down through half of the envelope, first
    scene.world.run(7.0)
    assert abs(scene.slid()[-1] - settled) < 1e-5


def test_on_a_slightly_steeper_slope_all_cubes_slide() -> None:
    scene = made("friction", friction_cubes.SLOPE + math.radians(0.5))
    scene.world.run(1.0)
    assert gained(scene, 4.0)[-1] == pytest.approx(2.0 * scene.expected(1.0)[-1] * 4.0, rel=0.01)


def test_spheres_come_up_to_the_square_of_their_restitution_and_polyhedra_spin() -> None:
    scene = made("bouncing")
    scene.watch(2.0)
    np.testing.assert_allclose(scene.rises()[0], np.square(scene.restitutions), rtol=0.01, atol=1e-3)
    assert scene.rises()[1, -1] < 0.9
    assert np.ptp(np.array(scene.energies)[:, -1]) < 1e-3 * G * bouncing_balls.DROP


def test_coins_lie_down_and_never_gain_energy() -> None:
    scene = made("coins")
    most = scene.energy()
    for _ in range(60):
        scene.world.run(0.05)
        assert scene.energy() < most + 1e-5
        most = scene.energy()
    assert all(coin.asleep for coin in scene.coins)
    assert min(coin.position[2] for coin in scene.coins) > 0.4 * coin_toss.THICK


def test_the_car_drives_through_the_looping() -> None:
    scene = made("car")
    path: list[tuple[float, float, float]] = []

    def look(world: Any) -> None:
        path.append(
            (
                scene.driver.chassis.position[2],
                scene.driver.chassis.pose.rotation[2, 2],
                scene.aside(scene.driver.chassis.pose),
            )
        )

    scene.world.every(0.02, look)
    scene.world.run(car_track.CAR_TRACK_SECONDS)
    z, up, aside = np.array(path).T
    assert up.min() < -0.95
    assert z[np.argmin(up)] > 1.8 * car_track.RADIUS
    assert up[-1] > 0.999
    assert np.abs(aside).max() < 0.15
    assert scene.driver.chassis.position[0] > car_track.STOP


def test_the_wall_stands_with_both_handlings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(brick_wall, "SECONDS", 20.0)
    told: list[str] = []
    DEMOS["wall_handlings"].show(tmp_path, told.append)
    moved = [float(line.split("bricks move by ")[1].split(" mm")[0]) for line in told if "bricks move by" in line]
    assert len(moved) == 2
    assert max(moved) < 1.0
    assert (tmp_path / "wall_handlings.png").exists()


def test_boosted_micro_collisions_stir_the_wall_and_contacts_that_carry_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(brick_wall, "STIRRED", 4.0)
    told: list[str] = []
    DEMOS["wall_boost"].show(tmp_path, told.append)
    moved = [float(line.split("bricks move by ")[1].split(" mm")[0]) for line in told if "bricks move by" in line]
    assert moved[0] > 10.0
    assert moved[1] < 0.01
    assert (tmp_path / "wall_boost.png").exists()


@pytest.mark.parametrize("name", [name for name, demo in DEMOS.items() if demo.epsilon > 0.0])
def test_a_demonstration_by_impulses_is_made_of_them(name: str) -> None:
    scene = DEMOS[name].make(**DEMOS[name].settings(name, "impulse"))
    scene.world.step(3)
    assert scene.world.queries.statistics.parts >= 3
    assert scene.world.dt == DEMOS[name].stride


def test_those_that_do_not_go_by_impulses_say_so() -> None:
    for name, demo in DEMOS.items():
        assert demo.settings(name, "timestep") == {}
        if name in ("wall_handlings", "wall_boost"):
            assert demo.settings(name, "impulse") == {}  # they show nothing else
        elif demo.epsilon == 0.0:
            with pytest.raises(ValueError, match=rf"demo {name}: it does not go by impulses; those do: friction, "):
                demo.settings(name, "impulse")


def test_a_demonstration_by_impulses_leaves_its_pictures(tmp_path: Path) -> None:
    told: list[str] = []
    demo = DEMOS["bouncing"]
    demo.show(tmp_path, told.append, **demo.settings("bouncing", "impulse"))
    assert told
    assert (tmp_path / f"{demo.picture}.png").exists()


def test_the_car_breaks_the_wall() -> None:
    scene = made("wall_and_car")
    scene.world.run(1.5)
    assert scene.hit[0] == math.inf
    offs = [np.linalg.norm(b.position - at) for b, at in zip(scene.bricks, scene.starts, strict=True)]
    assert max(offs) < 5e-3  # half of the envelope below each row
    scene.world.run(wall_and_car.WALL_AND_CAR_SECONDS - 1.5)
    assert 2.0 < scene.hit[0] < 4.0
    assert scene.hit[1] == pytest.approx(wall_and_car.WANTED_SPEED, abs=0.05)  # until it hits, not after
    assert 8 <= brick_wall.fallen(scene.bricks, scene.starts) < 34
    assert min(brick.position[2] for brick in scene.bricks) > 0.4 * min(brick_wall.BRICK)


@pytest.mark.parametrize("name", ["demolition", "double_demolition"])
def test_the_ball_swings_with_its_energy_and_breaks_all_walls(name: str) -> None:
    scene = made(name)
    before, height = scene.energy(), scene.ball.position[2]
    scene.world.run(0.85)
    assert scene.energy() == pytest.approx(before, abs=0.002 * scene.ball.mass * G * height)
    scene.world.run(demolition.DEMOLITION_SECONDS - 0.85)
    assert all(count >= 8 for count in scene.fallen())


def test_all_dominos_fall_in_their_order() -> None:
    scene = made("dominos")
    scene.world.run(domino_track.DOMINO_SECONDS)
    assert sorted(scene.falls) == list(range(150))
    times = np.array([scene.falls[i] for i in range(150)])
    assert (np.diff(times[:102]) > -1e-9).all()
    assert times[105:].min() > times[103]


def test_the_marble_meets_all_doors_and_wheels_on_its_way_down() -> None:
    scene = made("marble")
    scene.world.run(1.25 * marble_run.MARBLE_RUN_SECONDS)
    wanted, wheel = [], 0
    for floor, count in enumerate(marble_run.FLOORS):
        wanted += [f"door {floor}", *(f"wheel {wheel + k}" for k in range(count))]
        wheel += count
    assert list(scene.met) == wanted
    assert abs(scene.marble.position[1]) < 0.01
