"""Robots of URDF files that are looked at: on the ground, by themselves or nailed, with their joints held."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

import kinemorph as km
from kinemorph.multibody.layout import JointKind
from kinemorph.scenes.commands.view_command import scene_of
from kinemorph.scenes.robots.catalog import ARM, FAMOUS, robot_files
from kinemorph.scenes.robots.standing import about, lowest_point, start
from kinemorph.view.body_poses import Meshes, solid_shapes

LINK = (
    """<link name="{name}">{inertial}<collision><origin xyz="{at}"/><geometry>{shape}</geometry></collision></link>"""
)
MASS = '<inertial><mass value="{}"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>'


def table(dice: np.random.Generator, legs: int, mass: float | None, root: str = "trunk") -> str:
    """A box on legs that hang down from it, of random lengths; without a mass if it is None."""
    length, box = dice.uniform(0.2, 2.0), '<box size="1 1 0.1"/>'
    inertial = "" if mass is None else MASS.format(mass)
    links = [LINK.format(name=root, inertial=inertial, at="0 0 0", shape=box)]
    joints = []
    for k in range(legs):
        x, y = ((-0.4, -0.4), (0.4, -0.4), (-0.4, 0.4), (0.4, 0.4))[k]
        leg = f'<cylinder radius="0.05" length="{length}"/>'
        links.append(LINK.format(name=f"leg{k}", inertial=MASS.format(1.0), at=f"0 0 {-length / 2}", shape=leg))
        joints.append(
            f'<joint name="hip{k}" type="revolute"><parent link="{root}"/><child link="leg{k}"/>'
            f'<origin xyz="{x} {y} 0"/><axis xyz="0 1 0"/>'
            '<limit lower="-1" upper="1" effort="1e4" velocity="9"/></joint>'
        )
    return f'<robot name="table">{"".join(links + joints)}</robot>'


def shown(tmp_path: Path, text: str, **how: bool) -> km.World:
    file = tmp_path / "robot.urdf"
    file.write_text(text)
    return scene_of(str(file), **how)[0]


def bottom(world: km.World) -> float:
    """The height of the lowest point of what collides in a world."""
    points = []
    for body in world.bodies:
        meshes: Meshes = {}
        for shape in solid_shapes(world, body.id, meshes):
            mesh = meshes[shape.path] if shape.path is not None else km.mesh_of(shape)
            points.append((body.pose @ shape.pose).apply(mesh.vertices)[:, 2].min())
    return float(min(points))


def floats(world: km.World) -> bool:
    return bool(world.queries.link_of(world.bodies[0].id)["kind"] == JointKind.FREE)


@pytest.mark.parametrize("seed", range(6))
def test_a_robot_whose_root_has_mass_stands_on_the_ground(seed: int, tmp_path: Path) -> None:
    """It was nailed with its root at z = 0, so its legs were in the ground."""
    dice = np.random.default_rng(seed)
    legs = (0, 2, 3, 4, 4, 4)[seed]
    world = shown(tmp_path, table(dice, legs, dice.uniform(1.0, 20.0)))
    assert floats(world)
    assert bottom(world) == pytest.approx(0.0, abs=1e-9)
    assert len(world.drives) == legs
    height = world.bodies[0].position[2]
    world.run(1.0)
    assert bottom(world) > -5e-3
    if legs == 4:
        assert world.bodies[0].position[2] == pytest.approx(height, abs=0.01)  # held joints bear it
        assert world.bodies[0].pose.rotation[2, 2] > 0.999
    assert "moves freely (--floating False" in about(world, True)


@pytest.mark.parametrize(("legs", "mass", "root"), [(4, None, "trunk"), (1, 5.0, "stand"), (4, 5.0, "world")])
def test_stands_and_roots_without_mass_are_nailed(legs: int, mass: float | None, root: str, tmp_path: Path) -> None:
    for seed in range(3):
        world = shown(tmp_path, table(np.random.default_rng(seed), legs, mass, root))
        assert not floats(world)
        before = [body.pose for body in world.bodies]
        assert bottom(world) == pytest.approx(0.0, abs=1e-9)  # nailed above the ground, not in it
        world.run(0.5)
        assert all(
            np.allclose(b.pose.matrix(), p.matrix(), atol=2e-3) for b, p in zip(world.bodies, before, strict=True)
        )
        assert "nailed to the world (--floating True" in about(world, True)


def test_whoever_knows_better_says_so(tmp_path: Path) -> None:
    text = table(np.random.default_rng(1), 4, 5.0)
    for floating, hold in itertools.product((True, False), repeat=2):
        world = shown(tmp_path, text, floating=floating, hold=hold)
        assert floats(world) is floating
        assert bool(world.drives) is hold
        assert bottom(world) == pytest.approx(0.0, abs=1e-9)
    one = shown(tmp_path, table(np.random.default_rng(1), 1, 5.0), floating=True)
    assert floats(one)


def test_joints_begin_within_their_limits(tmp_path: Path) -> None:
    text = table(np.random.default_rng(3), 4, 5.0).replace('lower="-1" upper="1"', 'lower="0.2" upper="0.9"')
    model = km.parse_urdf(text, floating=True)
    assert np.allclose(start(model)[7:], 0.2)
    world = shown(tmp_path, text)
    assert bottom(world) == pytest.approx(0.0, abs=1e-9)
    world.run(0.3)
    q = [float(world.figures[0].position(f"hip{k}")[0]) for k in range(4)]
    assert np.allclose(q, 0.2, atol=0.02)


def test_what_only_can_be_seen_does_not_fall_for_ever(tmp_path: Path) -> None:
    text = table(np.random.default_rng(3), 4, 5.0).replace("collision>", "visual>")
    world = shown(tmp_path, text)
    assert not floats(world)
    assert lowest_point(km.parse_urdf(text), start(km.parse_urdf(text))) < -0.1


def test_the_arm_that_comes_along_stands_as_it_did() -> None:
    world, _ = scene_of(str(ARM))
    assert not floats(world)
    before = [body.pose for body in world.bodies]
    world.run(0.5)
    assert all(np.allclose(b.pose.matrix(), p.matrix(), atol=1e-2) for b, p in zip(world.bodies, before, strict=True))


@pytest.mark.skipif(not robot_files(), reason="example-robot-data is not installed")
@pytest.mark.parametrize(
    ("name", "moves"),
    [
        ("anymal", True), ("g1", True), ("talos", True), ("solo_description/solo12", True),
        ("hyq_description/hyq_no_sensors", True),
        ("a1_description/a1", True), ("panda", False), ("ur5", False),
        ("double_pendulum_description/double_pendulum", False), ("human", False),
    ],
)  # fmt: skip
def test_robots_that_people_know(name: str, moves: bool) -> None:
    from kinemorph.scenes.robots.catalog import robot
    from kinemorph.scenes.robots.standing import moves_freely

    model = robot(FAMOUS.get(name, name), floating=True)
    assert moves_freely(model) is moves
