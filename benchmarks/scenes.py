"""Seven scenes of bodies in contact that worlds are measured by, each as one model in a state, on the ground z = 0."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinemorph.geometry.mass import inertia_of
from kinemorph.geometry.shapes import Shape
from kinemorph.multibody.algorithms.configuration import neutral
from kinemorph.multibody.model.builder import Builder
from kinemorph.multibody.model.inertia import Inertia
from kinemorph.multibody.model.joint import Joint
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.pose import Pose
from kinemorph.spatial.products import length, times

Array = np.ndarray[Any, np.dtype[np.float64]]
FRICTION = 0.8
TORQUE = 30.0  # N m, of the ant's muscles, drawn anew every
HOLD = 0.04  # s


@dataclass(frozen=True)
class Yardstick:
    """Bodies and figures in a state, and how long to watch them."""

    name: str
    model: Model
    q: Array
    v: Array
    seconds: float
    restless: bool = False  # whether random torques act in its joints


class _Yard:
    """Collects free bodies, each of one shape, with the states that they start in."""

    def __init__(self, name: str) -> None:
        self.builder = Builder(name)
        self.states: list[tuple[Array, Array]] = []

    def body(self, shape: Shape, at: Any, w: Any = (0, 0, 0), v: Any = (0, 0, 0), density: float = 1000.0) -> None:
        """Add a body at a pose (or a position and a quaternion), with velocities in world axes."""
        position, quaternion = at
        quaternion = np.array(quaternion, float)
        quaternion /= length(quaternion)
        R = Pose.quaternion(quaternion).rotation
        mass = inertia_of(shape, density)
        self.builder.link(
            f"body{len(self.states)}", None, Joint.free(), inertia=Inertia(mass.mass, mass.com, mass.matrix),
            shapes=[shape],
        )  # fmt: skip
        self.states.append(
            (np.r_[position, quaternion], np.r_[times(R.T, np.array(w, float)), times(R.T, np.array(v, float))])
        )

    def done(self, seconds: float) -> Yardstick:
        q, v = (np.concatenate(part) for part in zip(*self.states, strict=True))
        return Yardstick(self.builder.name, self.builder.build(), q, v, seconds)


UPRIGHT = (1.0, 0.0, 0.0, 0.0)


def box() -> Yardstick:
    """A cube of 20 cm that is dropped while it turns."""
    yard = _Yard("box")
    half = 0.2
    yard.body(
        Shape.box((0.2, 0.2, 0.2)),
        ((0, 0, 0.5), (np.cos(half), 0.6 * np.sin(half), 0.8 * np.sin(half), 0)),
        (1, 2, 0.5),
    )
    return yard.done(2.0)


def ant() -> Yardstick:
    """A trunk and four legs of two boxes each, eight hinges with limits, and torques drawn at random."""
    builder = Builder("ant")
    trunk, upper, lower, thick = (0.25, 0.25, 0.09), 0.3, 0.3, 0.08

    def part(name: str, parent: str | None, joint: Joint, at: Any, size: Any, centre: Any) -> None:
        shape = Shape.box(size, Pose(centre))
        mass = inertia_of(shape, 1000.0)
        builder.link(name, parent, joint, at, Inertia(mass.mass, mass.com, mass.matrix), [shape])

    part("trunk", None, Joint.free(), (0, 0, 0), trunk, (0, 0, 0))
    for i, (x, y) in enumerate(((1, 1), (1, -1), (-1, 1), (-1, -1))):
        hip = Joint.revolute("z", damping=0.3, lower=-np.pi / 4, upper=np.pi / 4)
        knee = Joint.revolute("y", damping=0.3, lower=-np.radians(50), upper=np.radians(50))
        corner = (x * trunk[0] / 2, y * trunk[1] / 2, 0.0)
        part(
            f"thigh{i}",
            "trunk",
            hip,
            Pose.turn((0, 0, 1), np.arctan2(y, x), corner),
            (upper, thick, thick),
            (upper / 2 + 0.02, 0, 0),
        )
        part(
            f"shin{i}",
            f"thigh{i}",
            knee,
            Pose.turn((0, 1, 0), np.radians(60), (upper + 0.04, 0, 0)),
            (lower, thick, thick),
            (lower / 2 + 0.02, 0, 0),
        )
    model = builder.build()
    q = neutral(model)
    q[2] = 0.55
    return Yardstick("ant", model, q, np.zeros(model.nv), 10.0, restless=True)


def chain() -> Yardstick:
    """Ten boxes in a row, joined by balls, that fall on the ground."""
    builder = Builder("chain")
    for i in range(10):
        centre = (0.12 if i else 0.0, 0.0, 0.0)
        shape = Shape.box((0.2, 0.1, 0.1), Pose(centre))
        mass = inertia_of(shape, 1000.0)
        joint = Joint.spherical(damping=0.02) if i else Joint.free()
        at = (0.0, 0.12, 0.24)[min(i, 2)]
        builder.link(
            f"box{i}", f"box{i - 1}" if i else None, joint, (at, 0, 0), Inertia(mass.mass, mass.com, mass.matrix),
            [shape],
        )  # fmt: skip
    model = builder.build()
    q = neutral(model)
    turn = np.array((0.98, 0.1, 0.1, 0.1))
    q[:7] = np.r_[(-1.0, 0.0, 0.6), turn / length(turn)]
    return Yardstick("chain", model, q, np.zeros(model.nv), 4.0)


def _bricks(yard: _Yard) -> None:
    for row in range(4):
        n = 9 - row % 2
        for i in range(n):
            yard.body(Shape.box((0.2, 0.1, 0.1)), (((i - (n - 1) / 2) * 0.202, 0.0, 0.05 + 0.1 * row), UPRIGHT))


def wall() -> Yardstick:
    """A wall of 34 bricks that stands."""
    yard = _Yard("wall")
    _bricks(yard)
    return yard.done(5.0)


def wall_and_ball() -> Yardstick:
    """The wall, hit by a ball."""
    yard = _Yard("wall and ball")
    _bricks(yard)
    yard.body(Shape.sphere(0.1), ((0.0, -2.0, 0.25), UPRIGHT), v=(0, 8, 0), density=2000.0)
    return yard.done(2.0)


def dominos() -> Yardstick:
    """150 dominos in a row; the first one is pushed over its lower edge."""
    yard = _Yard("dominos")
    x, y, z, lean, spin = 0.015, 0.05, 0.1, 0.1, 4.0
    shape = Shape.box((2 * x, 2 * y, 2 * z))
    for i in range(150):
        if i:
            yard.body(shape, ((0.06 * i, 0.0, z), UPRIGHT))
            continue
        along, up = -x * np.cos(lean) + z * np.sin(lean), x * np.sin(lean) + z * np.cos(lean)
        yard.body(
            shape,
            ((x + along, 0.0, up), (np.cos(lean / 2), 0, np.sin(lean / 2), 0)),
            (0, spin, 0),
            (spin * up, 0, -spin * along),
        )
    return yard.done(8.0)


def coins() -> Yardstick:
    """18 coins that are tossed."""
    yard, rng = _Yard("coins"), np.random.default_rng(3)
    for i in range(18):
        height = 0.2 + 0.05 * (i // 9) + 0.02 * rng.random()
        turn = rng.standard_normal(4)
        v = (*rng.uniform(-0.2, 0.2, 2), rng.uniform(0.5, 1.5))
        yard.body(
            Shape.cylinder(0.012, 0.002),
            ((0.03 * (i % 3 - 1), 0.03 * (i // 3 % 3 - 1), height), turn),
            rng.uniform(-20, 20, 3),
            v,
            6600.0,
        )
    return yard.done(2.0)


def stack(count: int = 20) -> Yardstick:
    """Cubes on top of each other."""
    yard = _Yard(f"stack of {count}")
    for i in range(count):
        yard.body(Shape.box((0.2, 0.2, 0.2)), ((0.0, 0.0, 0.1 + 0.2 * i), UPRIGHT))
    return yard.done(10.0)


def heavy_on_light(ratio: float = 1000.0) -> Yardstick:
    """A cube on a cube of 1 kg."""
    yard = _Yard(f"{ratio:g} kg on 1 kg")
    yard.body(Shape.box((0.2, 0.2, 0.2)), ((0.0, 0.0, 0.1), UPRIGHT), density=1.0 / 0.008)
    yard.body(Shape.box((0.2, 0.2, 0.2)), ((0.0, 0.0, 0.3), UPRIGHT), density=ratio / 0.008)
    return yard.done(10.0)


SEVEN: dict[str, Callable[[], Yardstick]] = {
    "box": box,
    "ant": ant,
    "chain": chain,
    "wall": wall,
    "wall and ball": wall_and_ball,
    "dominos": dominos,
    "coins": coins,
}
