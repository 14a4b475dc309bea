"""Force elements: springs, dampers and bushings between two places on any links, or on a link and the base.

They act in time (`rollout`, `simulate`), as springs and dampers in joints do, and have no mass. An element belongs to
two bodies, not to links, so a change of structure leaves it where it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from kinemorph.jit.api import kernel
from kinemorph.jit.rows import table
from kinemorph.multibody.layout import link_data_of
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import repr_of
from kinemorph.spatial.mat3 import Mat3, mul, mul_vec, transpose
from kinemorph.spatial.pose import Pose, Vector
from kinemorph.spatial.quaternion import from_matrix, log, log_shift
from kinemorph.spatial.rows import load3, load3_at, load9, store3, store3_at
from kinemorph.spatial.scalar import sqrt
from kinemorph.spatial.vec3 import Vec3, add, cross, dot, neg, scale, sub

SMALLEST_LENGTH = 1e-12  # m: places nearer to each other than this have no direction between them


class ElementKind(IntEnum):
    """Kind of a force element. The value is stored in rows."""

    LINE = 0  # acts along the line between two points
    BUSHING = 1  # acts on the relative pose of two frames


LINE, BUSHING = (int(k) for k in ElementKind)

ELEMENT = np.dtype(
    [
        ("kind", "i4"),  # ElementKind
        ("a", "i4"),  # links, -1 for the base
        ("b", "i4"),
        ("Ra", "f8", 9),  # pose of the end on link a,
        ("pa", "f8", 3),  # m
        ("Rb", "f8", 9),  # and on link b
        ("pb", "f8", 3),  # m
        ("length", "f8"),  # m, of a line at which its spring is slack
        ("tension", "f8"),  # N, constant force of a line that pulls both ends together
        ("stiffness", "f8", 6),  # N m/rad about the axes of the frame on a, then N/m along them; a line has the first
        ("damping", "f8", 6),  # N m s/rad and N s/m, likewise
    ],
    align=True,
)


@checked_first
@dataclass(frozen=True, eq=False)
class ForceElement:
    """A spring, damper or bushing between a place on link `a` and one on link `b`; -1 or None is the base.

    Made by `ForceElement.spring`, `damper`, `tension` and `bushing`.
    """

    kind: ElementKind
    a: str | int | None
    b: str | int | None
    at_a: Pose
    at_b: Pose
    stiffness: Vector
    damping: Vector
    length: float
    pull: float
    name: str

    @staticmethod
    def spring(
        a: str | int | None,
        b: str | int | None,
        stiffness: float,
        length: float,
        *,
        at_a: Iterable[float] = (0.0, 0.0, 0.0),
        at_b: Iterable[float] = (0.0, 0.0, 0.0),
        damping: float = 0.0,
        tension: float = 0.0,
        name: str = "",
    ) -> ForceElement:
        """A spring (N/m) between two points that is slack at `length` (m), with a damper (N s/m) beside it.

        `tension` (N) pulls the points together as well, whatever their distance; a negative one pushes them apart.
        """
        numbers = (stiffness, damping)
        return _element(ElementKind.LINE, a, b, Pose(at_a), Pose(at_b), *numbers, length, tension, name)

    @staticmethod
    def damper(
        a: str | int | None,
        b: str | int | None,
        damping: float,
        *,
        at_a: Iterable[float] = (0.0, 0.0, 0.0),
        at_b: Iterable[float] = (0.0, 0.0, 0.0),
        name: str = "",
    ) -> ForceElement:
        """A damper (N s/m) between two points."""
        return _element(ElementKind.LINE, a, b, Pose(at_a), Pose(at_b), 0.0, damping, 0.0, 0.0, name)

    @staticmethod
    def tension(
        a: str | int | None,
        b: str | int | None,
        force: float,
        *,
        at_a: Iterable[float] = (0.0, 0.0, 0.0),
        at_b: Iterable[float] = (0.0, 0.0, 0.0),
        name: str = "",
    ) -> ForceElement:
        """A constant force (N) that pulls two points together; a negative one pushes them apart."""
        return _element(ElementKind.LINE, a, b, Pose(at_a), Pose(at_b), 0.0, 0.0, 0.0, force, name)

    @staticmethod
    def bushing(
        a: str | int | None,
        b: str | int | None,
        stiffness: float | Iterable[float],
        damping: float | Iterable[float] = 0.0,
        *,
        at_a: Pose | Iterable[float] = (0.0, 0.0, 0.0),
        at_b: Pose | Iterable[float] = (0.0, 0.0, 0.0),
        name: str = "",
    ) -> ForceElement:
        """Springs and dampers between two frames that are slack where the frames coincide.

        Six numbers each: about the axes of the frame on a (N m/rad), then along them (N/m); or one for all.
        """
        frames = [at if isinstance(at, Pose) else Pose(at) for at in (at_a, at_b)]
        return _element(ElementKind.BUSHING, a, b, frames[0], frames[1], stiffness, damping, 0.0, 0.0, name)


def _element(
    kind: ElementKind, a: Any, b: Any, at_a: Pose, at_b: Pose, stiffness: Any, damping: Any, length: float,
    pull: float, name: str,
) -> ForceElement:  # fmt: skip
    if not isinstance(name, str):
        raise TypeError(f"force element {name!r}: its name must be a text")
    where = f"force element {name!r}: " if name else "force element: "
    numbers = []
    for what, values in (("stiffness", stiffness), ("damping", damping)):
        six = np.zeros(6)
        try:
            several = values.ndim > 0 if isinstance(values, np.ndarray) else isinstance(values, Iterable)
            given = np.asarray(list(values) if several else values, dtype=np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"{where}{what} is {repr_of(values)}, and must be one number or six") from None
        if given.shape not in (((),) if kind is ElementKind.LINE else ((), (6,))):
            raise ValueError(f"{where}{what} must be one number{'' if kind is ElementKind.LINE else ' or six'}")
        six[:] = given
        if not (np.isfinite(six).all() and (six >= 0.0).all()):
            raise ValueError(f"{where}{what} {given.tolist()} must be finite and not negative")
        numbers.append(six)
    if not (math.isfinite(length) and length >= 0.0):
        raise ValueError(f"{where}length {length} must be finite and not negative")
    if not math.isfinite(pull):
        raise ValueError(f"{where}a force of {pull} N is not finite")
    return ForceElement(kind, a, b, at_a, at_b, numbers[0], numbers[1], float(length), float(pull), name)


def element_rows(held: Iterable[tuple[ForceElement, int, Pose, int, Pose]]) -> np.ndarray[Any, Any]:
    """Rows of elements, from the elements with the links and poses of their ends."""
    listed = list(held)
    rows = np.zeros(len(listed), ELEMENT)
    for row, (e, a, at_a, b, at_b) in zip(rows, listed, strict=True):
        row["kind"], row["a"], row["b"] = e.kind, a, b
        row["Ra"], row["pa"] = at_a.rotation.ravel(), at_a.position
        row["Rb"], row["pb"] = at_b.rotation.ravel(), at_b.position
        row["length"], row["tension"] = e.length, e.pull
        row["stiffness"], row["damping"] = e.stiffness, e.damping
    rows.flags.writeable = False
    return rows


@kernel
def add_wrench_pair(rows: Any, total: Any, body_a: int, body_b: int, x: Vec3, n: Vec3, f: Vec3) -> None:
    """Add a wrench at x on body_b, and its opposite on body_a, to the wrenches on links; the base takes none."""
    if body_b >= 0:
        add_wrench(rows[body_b + 1], total[body_b], x, n, f)
    if body_a >= 0:
        add_wrench(rows[body_a + 1], total[body_a], x, neg(n), neg(f))


@kernel
def add_wrench(data: Any, total: Any, x: Vec3, n: Vec3, f: Vec3) -> None:
    """Add a wrench at x to the wrench on a link, at its origin."""
    store3(total, add(load3(total), add(n, cross(sub(x, load3(data["p"])), f))))
    store3_at(total, 3, add(load3_at(total, 3), f))


@kernel
def place_frame(data: Any, R: Mat3, p: Vec3) -> tuple[Mat3, Vec3, Vec3]:
    """World pose of a frame on a link, and the velocity of its origin."""
    R_link = load9(data["R"])
    r = mul_vec(R_link, p)
    return mul(R_link, R), add(load3(data["p"]), r), add(load3(data["v"]), cross(load3(data["w"]), r))


@kernel(inline=False)
def add_element_forces(tree: Any, total: Any) -> float:
    """Add the wrenches of all elements to `total`, from the motion of the links. Returns their elastic energy."""
    rows = link_data_of(tree)
    elements = elements_of(tree)
    energy = 0.0
    for i in range(elements.shape[0]):
        e = elements[i]
        da, db = rows[e["a"] + 1], rows[e["b"] + 1]
        x, n, f, stored = element_wrench(e, da, load9(e["Ra"]), load3(e["pa"]), db, load9(e["Rb"]), load3(e["pb"]))
        add_wrench_pair(rows, total, e["a"], e["b"], x, n, f)
        energy += stored
    return energy


@kernel
def element_wrench(
    element: Any, da: Any, Ra: Mat3, pa: Vec3, db: Any, Rb: Mat3, pb: Vec3
) -> tuple[Vec3, Vec3, Vec3, float]:  # fmt: skip
    """The point where an element acts on link b, its moment and force there, and its elastic energy.

    The end frames are arguments, because a caller may have them in other frames than the row.
    """
    Ra, xa, va = place_frame(da, Ra, pa)
    Rb, xb, vb = place_frame(db, Rb, pb)
    d = sub(xb, xa)
    if element["kind"] != LINE:
        n, f, energy = bushing_wrench(element, da, Ra, db, Rb, xb, d)
        return xb, n, f, energy
    distance = sqrt(dot(d, d))
    along = scale(d, 1.0 / distance) if distance > SMALLEST_LENGTH else (0.0, 0.0, 0.0)
    stretch = distance - element["length"]
    k = element["stiffness"][0]
    tension = k * stretch + element["damping"][0] * dot(along, sub(vb, va)) + element["tension"]
    energy = 0.5 * k * stretch * stretch + element["tension"] * distance
    return xb, (0.0, 0.0, 0.0), scale(along, -tension), energy


@kernel
def bushing_wrench(element: Any, da: Any, Ra: Mat3, db: Any, Rb: Mat3, xb: Vec3, way: Vec3) -> tuple[Vec3, Vec3, float]:
    """Moment and force of a bushing: the elastic energy is ½ Σ k stretch², in the axes of the frame on a."""
    w = sub(load3(db["w"]), load3(da["w"]))
    u = sub(point_velocity(db, xb), point_velocity(da, xb))  # as a body on a would see it
    E = transpose(Ra)
    w, u = mul_vec(E, w), mul_vec(E, u)
    c = element["damping"]
    n, f, energy = bushing_spring_wrench(element, E, Rb, way)
    n = (n[0] - c[0] * w[0], n[1] - c[1] * w[1], n[2] - c[2] * w[2])
    f = (f[0] - c[3] * u[0], f[1] - c[4] * u[1], f[2] - c[5] * u[2])
    return mul_vec(Ra, n), mul_vec(Ra, f), energy


@kernel
def bushing_spring_wrench(element: Any, to_a: Mat3, Rb: Mat3, way: Vec3) -> tuple[Vec3, Vec3, float]:
    """Moment, force and energy of a bushing's springs, in the axes of the frame on a, into which `to_a` turns."""
    phi, p, k = log(from_matrix(mul(to_a, Rb))), mul_vec(to_a, way), element["stiffness"]
    # the rotation vector in the axes of a: its gradient with respect to a turn there is log_shift with the other sign
    turned = log_shift((-phi[0], -phi[1], -phi[2]), (k[0] * phi[0], k[1] * phi[1], k[2] * phi[2]))
    turn = k[0] * phi[0] * phi[0] + k[1] * phi[1] * phi[1] + k[2] * phi[2] * phi[2]
    energy = 0.5 * (turn + k[3] * p[0] * p[0] + k[4] * p[1] * p[1] + k[5] * p[2] * p[2])
    return neg(turned), (-k[3] * p[0], -k[4] * p[1], -k[5] * p[2]), energy


@kernel
def point_velocity(data: Any, x: Vec3) -> Vec3:
    """Velocity of the point of a link at world point x."""
    return add(load3(data["v"]), cross(load3(data["w"]), sub(x, load3(data["p"]))))


# --- accessors of tables, by their headers ---

elements_of = table(ELEMENT, "elements", "element_count")
