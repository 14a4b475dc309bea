"""Classic mechanisms: models with loops, each with a configuration in which all its loops are closed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kinemorph.constraint.closure import close, project
from kinemorph.geometry.shapes import Shape
from kinemorph.multibody.algorithms.configuration import neutral
from kinemorph.multibody.algorithms.kinematics import kinematics, pose_of
from kinemorph.multibody.checks import Array
from kinemorph.multibody.data import Data
from kinemorph.multibody.model.builder import Builder
from kinemorph.multibody.model.inertia import Inertia
from kinemorph.multibody.model.joint import Joint
from kinemorph.multibody.model.loops import Loop
from kinemorph.multibody.model.model import Model
from kinemorph.scenes.robots import catalog
from kinemorph.spatial.pose import Pose


class Scene(NamedTuple):
    """A mechanism, and where it starts."""

    model: Model
    q: Array


def _closed(model: Model, q: Array) -> Scene:
    return Scene(model, close(model, Data(model), q))


def _bar(length: float, side: float = 0.0) -> tuple[Inertia, Shape]:
    """A bar along x, a kilogram a metre and a few centimetres thick. It is drawn a little to the side of others."""
    shape = Shape.box((length + 0.04, 0.03, 0.04), Pose((0.5 * length, side, 0.0)))
    return Inertia.box(length, (length, 0.04, 0.04), (0.5 * length, 0.0, 0.0)), shape


def _rod(mass: float, start: float, end: float, radius: float) -> tuple[Inertia, Shape]:
    """A thin rod along z."""
    middle = Pose((0.0, 0.0, 0.5 * (start + end)))
    return Inertia.rod(mass, (0, 0, start), (0, 0, end)), Shape.capsule(radius, end - start, middle)


def _disc(mass: float, radius: float, height: float) -> tuple[Inertia, Shape]:
    return Inertia.cylinder(mass, radius, height), Shape.cylinder(radius, height)


def _block(mass: float, size: tuple[float, float, float], z: float = 0.0) -> tuple[Inertia, Shape]:
    return Inertia.box(mass, size, (0.0, 0.0, z)), Shape.box(size, Pose((0.0, 0.0, z)))


def four_bar(
    crank: float = 0.3, coupler: float = 0.8, rocker: float = 0.6, ground: float = 0.9, angle: float = 1.0
) -> Scene:
    """Four bars in the xz-plane. Mobility 1, though a count of rows says -2: the bars stay in their plane anyway.

    With crank = rocker and coupler = ground it is a parallelogram, and flat, where it can change its mind, at angle 0.
    """
    b = Builder("four-bar")
    b.link("crank", None, Joint.revolute("y"), (0, 0, 0), *_bar(crank))
    b.link("coupler", "crank", Joint.revolute("y"), (crank, 0, 0), *_bar(coupler, 0.03))
    b.link("rocker", None, Joint.revolute("y"), (ground, 0, 0), *_bar(rocker))
    b.loop("coupler", "rocker", Joint.revolute("y"), (coupler, 0, 0), (rocker, 0, 0), "pin")
    # a turn by -angle about y lifts a bar along x
    q = np.array([-angle, 0.0, 0.0])
    tip = np.array([crank * math.cos(angle), crank * math.sin(angle)])
    dx, dz = np.array([ground, 0.0]) - tip
    reach = math.hypot(dx, dz)
    cosine = (coupler**2 + reach**2 - rocker**2) / (2.0 * coupler * reach)
    lift = math.atan2(dz, dx) + math.acos(max(-1.0, min(1.0, cosine)))
    end = tip + coupler * np.array([math.cos(lift), math.sin(lift)])
    q[1] = -lift - q[0]
    q[2] = -math.atan2(end[1], end[0] - ground)
    return _closed(b.build(), q)


def slider_crank(crank: float = 0.2, rod: float = 0.7, angle: float = 0.7) -> Scene:
    """A crank that drives a slider along x. Mobility 1."""
    b = Builder("slider-crank")
    b.link("crank", None, Joint.revolute("y"), (0, 0, 0), *_bar(crank))
    b.link("rod", "crank", Joint.revolute("y"), (crank, 0, 0), *_bar(rod, 0.03))
    b.link("slider", None, Joint.prismatic("x"), (0, 0, 0), *_block(0.5, (0.1, 0.1, 0.1)))
    b.loop("rod", "slider", Joint.revolute("y"), (rod, 0, 0), (0, 0, 0), "pin")
    swing = math.asin(crank * math.sin(angle) / rod)
    x = crank * math.cos(angle) + rod * math.cos(swing)
    return _closed(b.build(), np.array([-angle, angle + swing, x]))


def bennett(a: float = 0.4, b: float = 0.6, twist: float = 0.6, angle: float = 1.0) -> Scene:
    """Bennett's four bars in space: four skew hinges, mobility 1 although only special lengths and twists allow it.

    a and b are the lengths of opposite bars, `twist` the angle between the hinges of a bar of length a.
    """
    twist_b = math.asin(b * math.sin(twist) / a)
    bars = [(a, twist), (b, twist_b), (a, twist)]
    builder = Builder("bennett")
    parent, at = None, Pose()
    for i, (length, angle_between) in enumerate(bars):
        end = Pose.turn((1, 0, 0), angle_between, (length, 0, 0))
        builder.link(f"bar{i}", parent, Joint.revolute("z"), at, *_bar(length))
        parent, at = f"bar{i}", end
    # the fourth bar is the base: its far end is where the last hinge closes the loop
    fourth = Pose.turn((1, 0, 0), twist_b, (b, 0, 0)).inverse()
    builder.loop(parent, None, Joint.revolute("z"), at, fourth, "pin")
    k = math.sin(0.5 * (twist_b + twist)) / math.sin(0.5 * (twist_b - twist))
    other = 2.0 * math.atan(k / math.tan(0.5 * angle))
    return _closed(builder.build(), np.array([angle, other, -angle]))


def stewart(base: float = 0.6, platform: float = 0.35, height: float = 0.7) -> Scene:
    """A platform on six legs: universal joints below, prismatic in the middle, spherical on top. Mobility 6."""
    b = Builder("stewart")
    b.link("platform", None, Joint.free(), (0, 0, 0), *_disc(5.0, platform, 0.05))
    q = [0.0, 0.0, height, 1.0, 0.0, 0.0, 0.0]
    for i in range(6):
        pair, side = divmod(i, 2)
        below = 2.0 * math.pi / 3.0 * pair + (0.25 if side else -0.25)
        above = 2.0 * math.pi / 3.0 * (pair + 0.5 * (2 * side - 1)) + (-0.25 if side else 0.25)
        foot = np.array([base * math.cos(below), base * math.sin(below), 0.0])
        top = np.array([platform * math.cos(above), platform * math.sin(above), 0.0])
        b.link(f"cylinder{i}", None, Joint.universal("x", "y"), foot, *_rod(1.0, 0.0, 0.4, 0.03))
        b.link(f"piston{i}", f"cylinder{i}", Joint.prismatic("z"), (0, 0, 0), *_rod(0.5, -0.4, 0.0, 0.018))
        b.loop(f"piston{i}", "platform", Joint.spherical(), (0, 0, 0), top, f"ball{i}")
        leg = top + (0.0, 0.0, height) - foot
        length = float(np.linalg.norm(leg))
        x, y, z = leg / length  # Rx(q0) Ry(q1) turns z into this
        q += [math.atan2(-y, z), math.asin(x), length]
    return _closed(b.build(), np.array(q))


def delta(base: float = 0.2, platform: float = 0.08, arm: float = 0.3, rod: float = 0.6) -> Scene:
    """A platform that three arms move by a pair of parallel rods each. Mobility 3: it never turns."""
    b = Builder("delta")
    b.link("platform", None, Joint.free(), (0, 0, 0), *_disc(0.5, platform, 0.02))
    q = [0.0, 0.0, -0.6, 1.0, 0.0, 0.0, 0.0]
    for i in range(3):
        around = Pose.turn((0, 0, 1), 2.0 * math.pi / 3.0 * i)
        b.link(f"arm{i}", None, Joint.revolute("y"), around @ Pose((base, 0, 0)), *_bar(arm))
        q += [0.3]
        for side, y in (("left", 0.05), ("right", -0.05)):
            b.link(f"{side}{i}", f"arm{i}", Joint.universal("y", "z"), (arm, y, 0), *_bar(rod))
            q += [1.2, 0.0]
            top = around.apply((platform, y, 0.0))
            b.loop(f"{side}{i}", "platform", Joint.spherical(), (rod, 0, 0), top, f"ball {side}{i}")
    return _closed(b.build(), np.array(q))


def two_arms(box: float = 0.4) -> Scene:
    """Two arms of seven hinges hold a free box by its sides. Mobility 8: six of the box, and an elbow each."""
    b = Builder("two arms")
    axes = ("z", "y", "z", "y", "z", "y", "x")
    for side, y in (("left", 0.5), ("right", -0.5)):
        parent, at = None, Pose((0.0, y, 0.8))
        for i, axis in enumerate(axes):
            length = 0.25 if i in (2, 4) else 0.05
            part = _block(2.0 * length + 0.3, (0.08, 0.08, length), 0.5 * length)
            b.link(f"{side}{i}", parent, Joint.revolute(axis), at, *part)
            parent, at = f"{side}{i}", Pose((0.0, 0.0, length))
    b.link("box", None, Joint.free(), (0, 0, 0), *_block(3.0, (0.3, box, 0.3)))
    for side, sign in (("left", 1.0), ("right", -1.0)):
        palm = Pose.turn((1, 0, 0), sign * 0.5 * math.pi, (0, sign * box / 2, 0))
        b.loop(f"{side}6", "box", Joint.fixed(), (0, 0, 0.05), palm, f"{side} hand")
    model = b.build()
    q = neutral(model)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        for i, angle in ((0, -0.2 * sign), (1, 0.5), (2, 0.3 * sign), (3, 1.2), (4, -0.4 * sign), (5, 0.8)):
            q[model.q_slice(f"{side}{i}")] = angle
    q[model.q_slice("box")][:3] = (0.45, 0.0, 0.9)
    return _closed(model, q)


def hung_cassie(floating: bool = False) -> Scene:
    """Cassie hung by its pelvis, feet in the middle of their range, its springs nearly slack. Mobility 12.

    Each leg is a rod and springs behind the shin, whose ball takes three of its eleven hinges, and a parallelogram to
    the foot, which takes two.
    """
    model = catalog.cassie(floating)
    q = neutral(model)
    for side, pitch in (("left", 0.7), ("right", -0.3)):
        angles = {"pitch-op": pitch, "tarsus-crank-joint": -1.5, "foot-op": -1.5, "crank-rod-joint": 1.5}
        for joint, angle in angles.items():
            q[model.q_slice(f"{side}-{joint}")] = angle
    return Scene(model, project(model, Data(model), q)[0])


def held(model: Model, q: Array, frames: Sequence[str]) -> Model:
    """A model whose named frames spherical joints hold where they are at q: a robot with its feet pinned."""
    data = Data(model)
    kinematics(model, data, q)
    hinge = Joint.spherical()
    pins = [Loop(None, name, hinge, pose_of(model, data, name), name=name) for name in frames]
    return model.with_loops([*model.loops, *pins])


def free_flyer() -> Scene:
    """N&Y section VII-A (figure 18): a free-flying chain of two links, whose end a hinge ties to the ground.

    Its tree has seven degrees of freedom, the hinge is the eighth: mobility 2.
    """
    b = Builder("free flyer")
    bar = Inertia.box(1.0, (0.1, 1.0, 0.1), (0.0, 0.5, 0.0))
    look = [Shape.box((0.06, 1.04, 0.06), Pose((0.0, 0.5, z))) for z in (-0.03, 0.03)]  # one above the other
    b.link("base", None, Joint.free(), (0, 0, 0), bar, shapes=look[:1])
    b.link("link1", "base", Joint.revolute("z"), (0, 1, 0), bar, shapes=look[1:])
    b.loop(None, "link1", Joint.revolute("z"), (0, 2, 0), (0, 1, 0), "link1v")
    model = b.build()
    return Scene(model, neutral(model))
