"""Hanging a link elsewhere: the one operation behind re-root, connect and cut, linear in the number of links (SPW).

A link gets another joint, on the base or on another link. If it was not the top of its tree, the joints from it up to
the top either stay (what it carries comes along: a cut) or change sides (the whole tree comes along: a re-root). On
that way, the chain of inversion (SPW 6.1), a link's frame moves, because it sits on the joint that carries it: with X
the tree transform of a joint, the link that owned it gets its frame moved by X, and the link that used it becomes the
owner, at the inverse of how its own frame has moved. What hangs on the chain keeps its parent (SPW rule ii) and is
re-expressed. This is SPW eqs. 9 to 22 without the detour through absolute bind poses: only relative transforms are
needed, so depth adds no rounding errors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph._jit import entry, kernel, rows_at
from kinemorph.multibody.builder import Builder
from kinemorph.multibody.calls import Matrix, Vector
from kinemorph.multibody.inertia import Inertia
from kinemorph.multibody.integrators import checked
from kinemorph.multibody.inversion import extract_position, extract_velocity, invert_axes, invert_force, invert_state
from kinemorph.multibody.joint import Joint
from kinemorph.multibody.joints import PLANAR, UNIVERSAL, bias
from kinemorph.multibody.kinematics import accelerate_all, kinematics, pose_of
from kinemorph.multibody.layout import DOF, LINK, NQ, NV, TREE, link_data
from kinemorph.multibody.model import Data, Model
from kinemorph.spatial.inertia import shift_rigid
from kinemorph.spatial.mat3 import IDENTITY, Mat3, mul, mul_vec, rotate_sym, skew, tmul_vec, transpose
from kinemorph.spatial.pose import Pose
from kinemorph.spatial.rows import load3, load6, load9, store3, store6, store9
from kinemorph.spatial.vec3 import Vec3, add, axpy, cross, neg, sub
from kinemorph.structure.report import Report, State

Records = np.ndarray[tuple[int], np.dtype[np.void]]
Integers = np.ndarray[tuple[int], np.dtype[np.int32]]
Table = np.ndarray[tuple[int, int], np.dtype[np.int32]]

SHIFT = np.dtype([("R", "f8", 9), ("p", "f8", 3)])  # a link's new frame, seen from its old one

SIZES = np.array([NQ, NV], dtype=np.int32)
FITS = 1e-6  # how far from its joint's motion a link may be, in m, rad and per second


@kernel
def order_links(links: Any, top: int, invert: bool, order: Any, where: Any, moved: Any) -> tuple[int, int]:
    """What stays first, then the chain of inversion from `top` upwards, then the rest of what moves, each as it was.

    With `invert` the whole tree of `top` moves, without it only what `top` carries. Returns where the chain starts and
    its length.
    """
    n = links.shape[0]
    root = top
    length = 1
    while invert and links[root]["parent"] >= 0:
        root = links[root]["parent"]
        length += 1
    count = 0
    for i in range(n):
        up = links[i]["parent"]
        moved[i] = 1 if i == root or (up >= 0 and moved[up] == 1) else 0
        where[i] = -1
        if moved[i] == 0:
            order[count] = i
            where[i] = count
            count += 1
    start = count
    i = top
    for _ in range(length):
        order[count] = i
        where[i] = count
        count += 1
        i = links[i]["parent"]
    for i in range(n):
        if where[i] < 0:
            order[count] = i
            where[i] = count
            count += 1
    return start, length


@kernel
def unshift(s: Any, R: Mat3, p: Vec3) -> tuple[Mat3, Vec3]:
    """A place given in a link's old frame, in its new frame."""
    E = load9(s["R"])
    return mul(transpose(E), R), tmul_vec(E, sub(p, load3(s["p"])))


@kernel
def set_joint(row: Any, R: Mat3, p: Vec3) -> None:
    """Tree transform of a row whose axes are set, and the constants that follow from both."""
    a = load3(row["axis"])
    store9(row["R"], R)
    store3(row["p"], p)
    K = mul(R, skew(a))
    store9(row["Rs"], K)
    C = mul(K, skew(a))  # [a]×² = a aᵀ - 1
    store9(row["Rc"], (-C[0], -C[1], -C[2], -C[3], -C[4], -C[5], -C[6], -C[7], -C[8]))


@kernel
def move_inertia(l: Any, s: Any, row: Any) -> None:
    """The link's inertia in its new frame (SPW eqs. 19 and 20: its pivot has moved)."""
    R = load9(s["R"])
    m = l["mass"]
    I, h = shift_rigid(neg(load3(s["p"])), load6(l["I"]), load3(l["h"]), m)
    row["mass"] = m
    store6(row["I"], rotate_sym(transpose(R), I))
    store3(row["h"], tmul_vec(R, h))


@kernel
def copy_axes(old: Any, new: Any) -> None:
    store3(new["axis"], load3(old["axis"]))
    store3(new["axis2"], load3(old["axis2"]))
    new["kind"] = old["kind"]
    new["pitch"] = old["pitch"]


@kernel
def copy_dof(old: Any, new: Any) -> None:
    new["armature"] = old["armature"]
    new["damping"] = old["damping"]
    new["stiffness"] = old["stiffness"]
    new["friction"] = old["friction"]
    new["lower"] = old["lower"]
    new["upper"] = old["upper"]
    new["speed"] = old["speed"]
    new["effort"] = old["effort"]


@kernel
def invert_dofs(kind: int, nv: int, old: Any, first: int, new: Any, to: int) -> None:
    """Numbers of a joint's degrees of freedom when it is seen from the other side: limits change ends."""
    for j in range(nv):
        source = first + (nv - 1 - j if kind == UNIVERSAL else j)
        copy_dof(old[source], new[to + j])
        lower = old[source]["lower"]
        new[to + j]["lower"] = -old[source]["upper"]
        new[to + j]["upper"] = -lower
        if kind == PLANAR and j < 2:  # distances along axes that now turn have no fixed limits
            new[to + j]["lower"] = -np.inf
            new[to + j]["upper"] = np.inf


@kernel(inline=False)
def rehang_rows(
    links: Any, dofs: Any, top: int, invert: bool, joint: Any, joint_dofs: Any, new_links: Any, new_dofs: Any,
    shifts: Any, order: Any, where: Any, last: Any, sizes: Any,
) -> tuple[int, int]:  # fmt: skip
    """Rows of the tree with link `top` carried by `joint`, a row with its parent (old index), axes and tree transform.

    shifts[top] is given; the others are found. `order[new] = old` and `where[old] = new`; `last[new]` is the degree of
    freedom nearest above what hangs on a link. Returns where the chain of inversion starts, and its length.
    """
    start, length = order_links(links, top, invert, order, where, last)
    for i in range(links.shape[0]):
        if i != top:
            store9(shifts[i]["R"], IDENTITY)
            store3(shifts[i]["p"], (0.0, 0.0, 0.0))
    for c in range(start + 1, start + length):  # the owner's frame moves to the joint that it owned
        user = links[order[c - 1]]
        store9(shifts[order[c]]["R"], load9(user["R"]))
        store3(shifts[order[c]]["p"], load3(user["p"]))
    iq = 0
    iv = 0
    for s in range(links.shape[0]):
        row = new_links[s]
        hang(links, s, start, length, joint, shifts, order, where, row)
        row["iq"] = iq
        row["iv"] = iv
        row["nq"] = sizes[0, row["kind"]]
        row["nv"] = sizes[1, row["kind"]]
        i = order[s]
        move_inertia(links[i], shifts[i], row)
        if start < s < start + length:
            invert_dofs(row["kind"], row["nv"], dofs, links[order[s - 1]]["iv"], new_dofs, iv)
        else:
            for j in range(row["nv"]):
                copy_dof(joint_dofs[j] if s == start else dofs[links[i]["iv"] + j], new_dofs[iv + j])
        before = last[row["parent"]] if row["parent"] >= 0 else -1
        for k in range(iv, iv + row["nv"]):
            new_dofs[k]["link"] = s
            new_dofs[k]["parent"] = before
            before = k
        last[s] = before
        iq += row["nq"]
        iv += row["nv"]
    return start, length


@kernel
def hang(
    links: Any, s: int, start: int, length: int, joint: Any, shifts: Any, order: Any, where: Any, row: Any
) -> None:  # fmt: skip
    """Parent and joint of the link that comes to place s."""
    l = links[order[s]]
    row["parent"] = -1
    if s == start:
        copy_axes(joint, row)
        if joint["parent"] >= 0:
            row["parent"] = where[joint["parent"]]
        set_joint(row, load9(joint["R"]), load3(joint["p"]))
    elif start < s < start + length:
        row["parent"] = s - 1
        invert_axes(links[order[s - 1]], row)
        R, p = unshift(shifts[order[s - 1]], IDENTITY, (0.0, 0.0, 0.0))
        set_joint(row, R, p)
    else:
        copy_axes(l, row)
        R = load9(l["R"])
        p = load3(l["p"])
        if l["parent"] >= 0:
            row["parent"] = where[l["parent"]]
            R, p = unshift(shifts[l["parent"]], R, p)
        set_joint(row, R, p)


@kernel(inline=False)
def rehang_state(
    tree: Any, new_links: Any, order: Any, start: int, length: int, top_shift: Any, parent: int, old: Any, other: Any,
    new: Any,
) -> None:  # fmt: skip
    """State of the new tree: rows q, v, a, tau of `old` become those of `new`; `other` is scratch of the same shape.

    The links' motion must be up to date in the tree's rows (`accelerate_all` of the old state).
    """
    links = rows_at(tree["links"], tree["n"], LINK)
    for s in range(tree["n"]):
        if s == start:
            continue
        inverted = start < s < start + length
        l = links[order[s - 1] if inverted else order[s]]
        row = new_links[s]
        if inverted:
            invert_state(l, old[0], old[1], old[2], other[0], other[1], other[2])
            invert_force(l, old[0], old[3], other[3])
        for k in range(l["nq"]):
            new[0, row["iq"] + k] = other[0, l["iq"] + k] if inverted else old[0, l["iq"] + k]
        for j in range(1, 4):
            for k in range(l["nv"]):
                new[j, row["iv"] + k] = other[j, l["iv"] + k] if inverted else old[j, l["iv"] + k]
    rows = rows_at(tree["rows"], tree["n"] + 1, link_data(tree))
    extract_top(new_links[start], rows[order[start] + 1], rows[parent + 1], top_shift, new)


@kernel
def extract_top(joint: Any, d: Any, P: Any, s: Any, new: Any) -> None:
    """Position, velocity and acceleration of the new joint, from how its link moves against its parent's row P."""
    R_old = load9(d["R"])
    R = mul(R_old, load9(s["R"]))
    r = mul_vec(R_old, load3(s["p"]))
    x = add(load3(d["p"]), r)
    R_parent = load9(P["R"])
    E = mul(R_parent, load9(joint["R"]))
    origin = add(load3(P["p"]), mul_vec(R_parent, load3(joint["p"])))
    extract_position(joint, mul(transpose(E), R), tmul_vec(E, sub(x, origin)), new[0])  # SPW eq. 22
    w = load3(d["w"])
    wp = load3(P["w"])
    rp = sub(x, load3(P["p"]))
    dw = sub(w, wp)
    du = sub(add(load3(d["v"]), cross(w, r)), add(load3(P["v"]), cross(wp, rp)))
    extract_velocity(joint, new[0], tmul_vec(R, dw), tmul_vec(R, du), new[1])
    al = load3(d["al"])
    alp = load3(P["al"])
    # both accelerations contain minus gravity, which drops out of the difference
    acc = add(load3(d["a"]), add(cross(al, r), cross(w, cross(w, r))))
    accp = add(load3(P["a"]), add(cross(alp, rp), cross(wp, cross(wp, rp))))
    dal = sub(sub(al, alp), cross(wp, dw))
    dacc = axpy(sub(acc, accp), -2.0, cross(wp, du))
    bw, bv = bias(joint, new[0], new[1])
    extract_velocity(joint, new[0], sub(tmul_vec(R, dal), bw), sub(tmul_vec(R, dacc), bv), new[2])


@entry
def _rehang(
    handle: int, top: int, invert: bool, joint: Records, joint_dofs: Records, new_links: Records, new_dofs: Records,
    shifts: Records, order: Integers, where: Integers, last: Integers, sizes: Table, old: Matrix, other: Matrix,
    new: Matrix,
) -> tuple[int, int]:  # fmt: skip
    tree = rows_at(handle, 1, TREE)[0]
    links = rows_at(tree["links"], tree["n"], LINK)
    dofs = rows_at(tree["dofs"], tree["nv"], DOF)
    start, length = rehang_rows(
        links, dofs, top, invert, joint[0], joint_dofs, new_links, new_dofs, shifts, order, where, last, sizes
    )  # fmt: skip
    nq, nv = tree["nq"], tree["nv"]
    accelerate_all(tree, old[0, :nq], old[1, :nv], old[2, :nv])
    rehang_state(tree, new_links, order, start, length, shifts[top], joint[0]["parent"], old, other, new)
    return start, length


def rehang(
    model: Model, state: State, top: int, invert: bool, joint: Joint, parent: int, frame: Pose, held: Pose
) -> Report:
    """Carry link `top` by another joint: its frame stands at `frame` in the world, on link `parent` (-1: the base), and
    it holds the link at `held`, in the link's frame. Velocities must be such that the joint can follow.
    """
    q, v, a, tau = checked(
        model, q=state.q, v=state.v, a=_or_zeros(model, state.a), tau=_or_zeros(model, state.tau)
    )  # fmt: skip
    data = Data(model)
    kinematics(model, data, q, v, a)
    carrier = _row_of(joint, pose_of(model, data, parent).inverse() @ frame, model.joint_names[top])
    carrier[0]["parent"] = parent
    n = model.n
    new_links, new_dofs, shifts = np.zeros(n, LINK), np.zeros(model.nv + 6, DOF), np.zeros(n, SHIFT)
    shifts[top]["R"], shifts[top]["p"] = held.rotation.ravel(), held.position
    order, where, last = (np.zeros(n, np.int32) for _ in range(3))
    old, other, new = (np.zeros((4, model.nq + 7)) for _ in range(3))
    for row, values in zip(old, (q, v, a, tau), strict=True):
        row[: len(values)] = values
    start, length = _rehang(
        data.handle, top, invert, *carrier, new_links, new_dofs, shifts, order, where, last, SIZES, old, other, new
    )  # fmt: skip
    names = _joint_names(model, joint, order, start, length)
    changed = _changed(model, new_links, new_dofs, shifts, order, where, start, length, names)
    nq, nv = changed.nq, changed.nv
    kept = State(
        new[0, :nq].copy(),
        new[1, :nv].copy(),
        None if state.a is None else new[2, :nv].copy(),
        None if state.tau is None else new[3, :nv].copy(),
        state.time,
    )
    pose_error, twist_error = _differences(data, changed, kept, shifts, order)
    kind, name = joint.kind.name.lower(), model.names[top]
    if not pose_error < FITS:
        raise ValueError(
            f"model {model.name!r}: a {kind} joint cannot hold link {name!r} where it is now "
            f"(off by {pose_error:.2g}); give another `at` or `on`"
        )
    if not twist_error < FITS * (1.0 + float(np.abs(v).max(initial=0.0))):
        raise ValueError(
            f"model {model.name!r}: link {name!r} moves as a {kind} joint there does not allow "
            f"(off by {twist_error:.2g}); use connect, which computes the impact"
        )
    q_map, v_map = _maps(model, new_links, order, start, length)
    return Report(changed, kept, where, q_map, v_map, np.zeros(6), np.zeros(nv), 0.0, pose_error, twist_error)


def _or_zeros(model: Model, values: Any) -> Any:
    return np.zeros(model.nv) if values is None else values


def _row_of(joint: Joint, at: Pose, name: str) -> tuple[Records, Records]:
    """The joint as rows of a link and of its degrees of freedom, after all the checks that a builder makes."""
    b = Builder(name)
    b.link(name, None, joint, at, Inertia.sphere(1.0, 1.0))
    model = b.build()
    return model.links.copy(), model.dofs.copy()


def _joint_names(model: Model, joint: Joint, order: Any, start: int, length: int) -> list[str]:
    """Names of the joints by old link: along the chain a joint is now used by the link that owned it."""
    names = list(model.joint_names)
    gone = model.joint_names[order[start + length - 1]]
    for s in range(start + length - 1, start, -1):
        names[order[s]] = model.joint_names[order[s - 1]]
    names[order[start]] = joint.name or gone
    return names


def _changed(
    model: Model, new_links: Any, new_dofs: Any, shifts: Any, order: Any, where: Any, start: int, length: int,
    joint_names: list[str],
) -> Model:  # fmt: skip
    """The new model, with shapes and frames where they are on the bodies."""
    moved = [Pose(s["p"], s["R"].reshape(3, 3)).inverse() for s in shifts]
    frames = {name: (i, pose if i < 0 else moved[i] @ pose) for name, (i, pose) in model.frames.items()}
    for i in order[start : start + length]:  # a link's name keeps meaning the same place on its body
        frames.setdefault(model.names[i], (int(i), moved[i]))
    return Model(
        model.name,
        new_links,
        new_dofs[: int(new_links["nv"].sum())],
        [model.names[i] for i in order],
        [joint_names[i] for i in order],
        _rest_of(model, new_links, order, start, length),
        model.gravity,
        [[shape.moved(moved[i]) for shape in model.shapes[i]] for i in order],
        {name: (int(where[i]) if i >= 0 else -1, pose) for name, (i, pose) in frames.items()},
        model.mimics,
        model.base_shapes,
    )


def _source(model: Model, order: Any, s: int, start: int, length: int) -> Any:
    """The row of the joint that carries the link at place s now, as it was."""
    return model.links[order[s - 1] if start < s < start + length else order[s]]


def _maps(model: Model, new_links: Any, order: Any, start: int, length: int) -> tuple[Integers, Integers]:
    """Where the entries of joints have gone; those of the joint that was replaced are gone."""
    maps = []
    for first, count, total in (("iq", "nq", model.nq), ("iv", "nv", model.nv)):
        entries = np.full(total, -1, np.int32)
        for s in range(model.n):
            if s != start:
                l = _source(model, order, s, start, length)
                to = int(new_links[s][first])
                entries[l[first] : l[first] + l[count]] = np.arange(to, to + l[count])
        maps.append(entries)
    return maps[0], maps[1]


def _rest_of(model: Model, new_links: Any, order: Any, start: int, length: int) -> Any:
    """Where springs are slack: an inverted joint's rest is inverted as well."""
    rest = np.zeros(int(new_links["nq"].sum()))
    zeros, unused = np.zeros(model.nv), (np.zeros(model.nv), np.zeros(model.nv))
    inverted = np.zeros(model.nq)
    for s, row in enumerate(new_links):
        to = slice(int(row["iq"]), int(row["iq"] + row["nq"]))
        if s == start:
            if row["nq"] > row["nv"]:
                rest[to.stop - 4] = 1.0
            continue
        l = _source(model, order, s, start, length)
        values = model.rest
        if start < s < start + length:
            _invert_rest(l.reshape(1).copy(), model.rest.copy(), zeros, inverted, *unused)
            values = inverted
        rest[to] = values[l["iq"] : l["iq"] + l["nq"]]
    return rest


@entry
def _invert_rest(l: Records, q: Vector, v: Vector, q_out: Vector, v_out: Vector, a_out: Vector) -> None:
    invert_state(l[0], q, v, v, q_out, v_out, a_out)


def _differences(data: Data, model: Model, state: State, shifts: Any, order: Any) -> tuple[float, float]:
    """Largest differences of poses and velocities of bodies before and after."""
    after = Data(model)
    kinematics(model, after, state.q, state.v)
    old, new = data.links[order], after.links
    shift = shifts[order]
    R = old["R"].reshape(-1, 3, 3)
    r = np.einsum("nij,nj->ni", R, shift["p"])
    pose = np.abs(new["R"].reshape(-1, 3, 3) - R @ shift["R"].reshape(-1, 3, 3)).max()
    pose = max(pose, np.abs(new["p"] - old["p"] - r).max())
    twist = max(np.abs(new["w"] - old["w"]).max(), np.abs(new["v"] - old["v"] - np.cross(old["w"], r)).max())
    return float(pose), float(twist)
