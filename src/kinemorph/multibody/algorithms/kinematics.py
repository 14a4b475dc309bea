"""Forward kinematics: outward passes for poses, velocities and accelerations of links."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.multibody import checks
from kinemorph.multibody.algorithms import joints
from kinemorph.multibody.algorithms.joints import bias_acceleration, joint_transform, rotate_about_axis, subspace_column
from kinemorph.multibody.checks import NOT_FINITE, OK, Vector, fault_of_rates, fault_of_state
from kinemorph.multibody.data import Data
from kinemorph.multibody.layout import TREE, dof_data, link_data, links_of
from kinemorph.multibody.model.model import ORIGIN, Model
from kinemorph.spatial.mat3 import Mat3, mul, mul_vec
from kinemorph.spatial.pose import Pose
from kinemorph.spatial.rows import get, load3, load3_at, load9, store3, store3_at, store9
from kinemorph.spatial.vec3 import Vec3, add, axpy, cross, scale


@kernel
def orient_link(link: Any, parent: Any, data: Any, dof_rows: Any, q: Any) -> tuple[Mat3, Vec3]:
    """Rotation and motion subspace of one link, from its parent's row (SPW eq. 8). Returns world_R_link and r."""
    R_parent = load9(parent["R"])
    k = link["iv"]
    if link["kind"] == joints.REVOLUTE:
        R = mul(R_parent, rotate_about_axis(link, get(q, link["iq"])))
        r = mul_vec(R_parent, load3(link["p"]))
        store3(dof_rows[k]["S"], mul_vec(R, load3(link["axis"])))
    else:
        E, t = joint_transform(link, q)
        R = mul(R_parent, E)
        r = mul_vec(R_parent, t)
        if link["kind"] == joints.FREE:  # its columns are those of R
            for j in range(3):
                axis = (R[j], R[3 + j], R[6 + j])
                store3(dof_rows[k + j]["S"], axis)
                store3_at(dof_rows[k + 3 + j]["S"], 3, axis)
        else:
            for j in range(link["nv"]):
                w, v = subspace_column(link, q, j)
                store3(dof_rows[k + j]["S"], mul_vec(R, w))
                store3_at(dof_rows[k + j]["S"], 3, mul_vec(R, v))
    store9(data["R"], R)
    return R, r


@kernel
def place_link(link: Any, parent: Any, data: Any, dof_rows: Any, q: Any) -> tuple[Mat3, Vec3]:
    """Pose and motion subspace of one link. Returns world_R_link and r."""
    R, r = orient_link(link, parent, data, dof_rows, q)
    store3(data["r"], r)
    store3(data["p"], add(load3(parent["p"]), r))
    return R, r


@kernel
def move_link(
    link: Any, parent: Any, data: Any, dof_rows: Any, q: Any, v: Any, R: Mat3, r: Vec3
) -> tuple[Vec3, Vec3, Vec3]:
    """Velocity of one link whose pose is set. Returns its angular velocity and its bias acceleration."""
    w_parent = load3(parent["w"])
    wr = cross(w_parent, r)
    velocity = add(load3(parent["v"]), wr)
    bv = cross(w_parent, wr)
    if link["kind"] == joints.REVOLUTE:
        wj = scale(load3(dof_rows[link["iv"]]["S"]), get(v, link["iv"]))
        bw = cross(w_parent, wj)
    else:
        wj = (0.0, 0.0, 0.0)
        vj = (0.0, 0.0, 0.0)
        for k in range(link["iv"], link["iv"] + link["nv"]):
            wj = axpy(wj, get(v, k), load3(dof_rows[k]["S"]))
            vj = axpy(vj, get(v, k), load3_at(dof_rows[k]["S"], 3))
        own_bw, own_bv = bias_acceleration(link, q, v)
        bw = add(cross(w_parent, wj), mul_vec(R, own_bw))
        # Coriolis counts the relative velocity twice
        bv = add(axpy(bv, 2.0, cross(w_parent, vj)), mul_vec(R, own_bv))
        velocity = add(velocity, vj)
    w = add(w_parent, wj)
    store3(data["w"], w)
    store3(data["v"], velocity)
    return w, bw, bv


@kernel
def accelerate_link(
    link: Any, parent: Any, data: Any, dof_rows: Any, a: Any, r: Vec3, bw: Vec3, bv: Vec3
) -> tuple[Vec3, Vec3]:
    """Acceleration of one link, from those of its parent and of its joint."""
    al_parent = load3(parent["al"])
    al = add(al_parent, bw)
    acc = add(add(load3(parent["a"]), cross(al_parent, r)), bv)
    if link["kind"] == joints.REVOLUTE:
        al = axpy(al, get(a, link["iv"]), load3(dof_rows[link["iv"]]["S"]))
    else:
        for k in range(link["iv"], link["iv"] + link["nv"]):
            al = axpy(al, get(a, k), load3(dof_rows[k]["S"]))
            acc = axpy(acc, get(a, k), load3_at(dof_rows[k]["S"], 3))
    store3(data["al"], al)
    store3(data["a"], acc)
    return al, acc


@kernel(inline=False)
def place_links(tree: Any, q: Any) -> None:
    """Compute poses and motion subspaces of all links."""
    links = links_of(tree)
    rows = rows_at(tree["rows"], tree["n"] + 1, link_data(tree))
    dof_rows = rows_at(tree["dof_rows"], tree["nv"], dof_data(tree))
    for i in range(tree["n"]):
        l = links[i]
        place_link(l, rows[l["parent"] + 1], rows[i + 1], dof_rows, q)


@kernel(inline=False)
def move_links(tree: Any, q: Any, v: Any) -> None:
    """Compute velocities of all links, whose poses are set."""
    links = links_of(tree)
    rows = rows_at(tree["rows"], tree["n"] + 1, link_data(tree))
    dof_rows = rows_at(tree["dof_rows"], tree["nv"], dof_data(tree))
    for i in range(tree["n"]):
        l = links[i]
        d = rows[i + 1]
        move_link(l, rows[l["parent"] + 1], d, dof_rows, q, v, load9(d["R"]), load3(d["r"]))


@kernel(inline=False)
def accelerate_links(tree: Any, q: Any, v: Any, a: Any) -> None:
    """Compute poses, velocities and accelerations of all links."""
    links = links_of(tree)
    rows = rows_at(tree["rows"], tree["n"] + 1, link_data(tree))
    dof_rows = rows_at(tree["dof_rows"], tree["nv"], dof_data(tree))
    for i in range(tree["n"]):
        l = links[i]
        P = rows[l["parent"] + 1]
        d = rows[i + 1]
        R, r = place_link(l, P, d, dof_rows, q)
        _, bw, bv = move_link(l, P, d, dof_rows, q, v, R, r)
        accelerate_link(l, P, d, dof_rows, a, r, bw, bv)


@entry
def _kinematics(address: int, q: Vector, v: Vector, a: Vector) -> int:
    tree = rows_at(address, 1, TREE)[0]
    fault = fault_of_rates(tree, fault_of_state(tree, q, v), a)
    if fault != OK:
        return fault
    accelerate_links(tree, q, v, a)
    rows = rows_at(tree["rows"], tree["n"] + 1, link_data(tree))
    good = True
    for i in range(1, rows.shape[0]):  # a quaternion of length zero gives NaN
        good &= abs(rows[i]["R"][0]) <= 2.0
    return OK if good else NOT_FINITE


def kinematics(
    model: Model, data: Data, q: npt.ArrayLike, v: npt.ArrayLike | None = None, a: npt.ArrayLike | None = None
) -> None:
    """Compute poses and motion of all links: fields R, p, w, v, al, a of `data.links`, S of `data.dofs`.

    v and a are zero if not given. Field `a` contains minus gravity; see `acceleration_of`.
    """
    if getattr(data, "model", None) is not model:
        checks.check_data(model, data)
    v = np.zeros(model.nv) if v is None else v
    a = np.zeros(model.nv) if a is None else a
    try:
        status = _kinematics(data.address, q, v, a)
    except (TypeError, ValueError):
        q64, v64, a64 = checks.as_arrays(model, q=q, v=v, a=a)
        status = _kinematics(data.address, q64, v64, a64)
    if status:
        checks.raise_for_status(model, status, q=q, v=v, a=a)


def pose_of(model: Model, data: Data, place: str | int) -> Pose:
    """Pose of a link (by name or index) or of a named frame in the world, after `kinematics` or any dynamics."""
    link, at = locate_place(model, data, place)
    d = data.base if link < 0 else data.links[link]
    here = Pose.known(d["p"].copy(), d["R"].reshape(3, 3).copy())
    return here if at is ORIGIN else here @ at


def velocity_of(model: Model, data: Data, place: str | int) -> npt.NDArray[np.float64]:
    """Angular and linear velocity (6) of a link or frame, world axes, after `kinematics`."""
    link, at = locate_place(model, data, place)
    d = data.base if link < 0 else data.links[link]
    r = d["R"].reshape(3, 3) @ at.position
    return np.concatenate([d["w"], d["v"] + np.cross(d["w"], r)])


def acceleration_of(model: Model, data: Data, place: str | int) -> npt.NDArray[np.float64]:
    """Angular acceleration, and linear acceleration of the origin (6), of a link or frame, world axes.

    After `kinematics` with v and a, or after `rnea` or `aba`. This is the acceleration that an observer at rest
    measures, without gravity's share in field `a`.
    """
    link, at = locate_place(model, data, place)
    d = data.base if link < 0 else data.links[link]
    r = d["R"].reshape(3, 3) @ at.position
    linear = d["a"] + model.gravity + np.cross(d["al"], r) + np.cross(d["w"], np.cross(d["w"], r))
    return np.concatenate([d["al"], linear])


def locate_place(model: Model, data: Data, place: str | int) -> tuple[int, Pose]:
    """The link of a place, and the place's pose on it."""
    if type(data) is not Data or data.model is not model:
        checks.check_data(model, data)
    return model.place(place)
