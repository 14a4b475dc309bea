"""Jacobians of points on links, and accelerations of points when all joint accelerations are zero (drift J̇ v)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.multibody import checks
from kinemorph.multibody.algorithms.kinematics import kinematics, locate_place, place_links
from kinemorph.multibody.checks import LARGEST_FLOAT, NOT_FINITE, OK, Array, Matrix, Vector, fault_of_positions
from kinemorph.multibody.data import Data
from kinemorph.multibody.layout import TREE, dof_data, dofs_of, link_data
from kinemorph.multibody.loop_layout import last_dof
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.mat3 import mul_vec
from kinemorph.spatial.pose import vector
from kinemorph.spatial.rows import load3, load3_at, load9
from kinemorph.spatial.vec3 import Vec3, add, cross, sub


@kernel
def world_point(tree: Any, link: int, point: Vec3) -> Vec3:
    """World position of a point given in a link's frame; link -1 is the base."""
    rows = rows_at(tree["rows"], tree["n"] + 1, link_data(tree))
    d = rows[link + 1]
    return add(load3(d["p"]), mul_vec(load9(d["R"]), point))


@kernel(inline=False)
def fill_jacobian(tree: Any, link: int, x: Vec3, J: Any) -> None:
    """The 6 x nv Jacobian of world point x on a link: angular rows first, world axes. Zeros are not written."""
    rows = rows_at(tree["rows"], tree["n"] + 1, link_data(tree))
    dofs = dofs_of(tree)
    dof_rows = rows_at(tree["dof_rows"], tree["nv"], dof_data(tree))
    k = last_dof(tree, link)
    while k >= 0:
        w = load3(dof_rows[k]["S"])
        r = sub(x, load3(rows[dofs[k]["link"] + 1]["p"]))
        u = add(load3_at(dof_rows[k]["S"], 3), cross(w, r))
        for i in range(3):
            J[i, k] = w[i]
            J[3 + i, k] = u[i]
        k = dofs[k]["parent"]


@entry
def _jacobian(address: int, q: Vector, link: int, point: tuple[float, float, float], J: Matrix) -> int:
    tree = rows_at(address, 1, TREE)[0]
    fault = fault_of_positions(tree, q)
    if fault != OK:
        return fault
    place_links(tree, q)
    x = world_point(tree, link, point)
    if not abs(x[0] + x[1] + x[2]) <= LARGEST_FLOAT:  # a quaternion of length zero gives NaN
        return NOT_FINITE
    fill_jacobian(tree, link, x, J)
    return OK


@checked_on_failure
def jacobian(
    model: Model, data: Data, q: npt.ArrayLike, place: str | int, point: Iterable[float] = (0.0, 0.0, 0.0)
) -> Array:
    """J (6 x nv) with J v = angular velocity of a link or frame and velocity of a point on it, in world axes.

    `place` is a link (name or index) or a named frame, `point` is given in its axes.
    """
    link, local = local_point(model, data, place, point)
    J = np.zeros((6, model.nv))
    try:
        status = _jacobian(data.address, q, link, local, J)
    except (TypeError, ValueError):
        (q64,) = checks.as_arrays(model, q=q)
        status = _jacobian(data.address, q64, link, local, J)
    if status:
        checks.raise_for_status(model, status, q=q)
    return J


@checked_on_failure
def jacobian_drift(
    model: Model,
    data: Data,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    place: str | int,
    point: Iterable[float] = (0.0, 0.0, 0.0),
) -> Array:
    """J̇ v (6): angular acceleration, and acceleration of the point, when all joint accelerations are zero."""
    link, local = local_point(model, data, place, point)
    kinematics(model, data, q, v)
    d = data.base if link < 0 else data.links[link]
    r = d["R"].reshape(3, 3) @ local
    with np.errstate(all="ignore"):
        linear = d["a"] + model.gravity + np.cross(d["al"], r) + np.cross(d["w"], np.cross(d["w"], r))
    drift = np.concatenate([d["al"], linear])
    if not np.isfinite(drift).all():
        checks.raise_for_status(model, NOT_FINITE, q=q, v=v)
    return drift


def local_point(
    model: Model, data: Data, place: str | int, point: Iterable[float]
) -> tuple[int, tuple[float, float, float]]:
    """The link of a place, and a point given in the place's axes, in the link's frame."""
    link, at = locate_place(model, data, place)
    x, y, z = at.apply(vector(point, 3, "point")).tolist()
    return link, (x, y, z)
