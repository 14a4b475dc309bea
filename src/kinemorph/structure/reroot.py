"""Re-rooting: another link becomes the top of a tree, nothing moves, and it takes time linear in the links (SPW).

On the way from the new top to the old one (the chain of inversion, SPW 6.1) every joint changes sides. A link's frame
sits on the joint that carries it, so the frames of these links move: with X the tree transform of a joint, the link
that owned it gets its frame moved by X, and the link that used it becomes the owner, at the inverse of how its own
frame has moved. What hangs on the chain keeps its parent (SPW rule ii) and is re-expressed. This is SPW eqs. 9 to 20
without the detour through absolute bind poses: only relative transforms are needed, so depth adds no rounding errors.
"""

from __future__ import annotations

from collections.abc import Iterable
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
from kinemorph.multibody.layout import DOF, LINK, NQ, NV, TREE, JointKind, link_data
from kinemorph.multibody.model import Data, Model
from kinemorph.spatial.inertia import shift_rigid
from kinemorph.spatial.mat3 import IDENTITY, Mat3, mul, mul_vec, rotate_sym, skew, tmul_vec, transpose
from kinemorph.spatial.pose import Pose
from kinemorph.spatial.rows import load3, load6, load9, store3, store6, store9
from kinemorph.spatial.vec3 import Vec3, add, cross, neg, sub
from kinemorph.structure.report import Report, State

Records = np.ndarray[tuple[int], np.dtype[np.void]]
Integers = np.ndarray[tuple[int], np.dtype[np.int32]]
Table = np.ndarray[tuple[int, int], np.dtype[np.int32]]

SHIFT = np.dtype([("R", "f8", 9), ("p", "f8", 3)])  # a link's new frame, seen from its old one

SIZES = np.array([NQ, NV], dtype=np.int32)
FITS = 1e-6  # how far from its joint's motion a link may be, in m, rad and per second


@kernel
def order_links(links: Any, top: int, order: Any, where: Any) -> int:
    """The chain of inversion first, top down, then all others as they were. Returns the length of the chain."""
    n = links.shape[0]
    for i in range(n):
        where[i] = -1
    count = 0
    i = top
    while i >= 0:
        order[count] = i
        where[i] = count
        count += 1
        i = links[i]["parent"]
    chain = count
    for i in range(n):
        if where[i] < 0:
            order[count] = i
            where[i] = count
            count += 1
    return chain


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
def reroot_rows(
    links: Any, dofs: Any, top: int, joint: Any, joint_dofs: Any, new_links: Any, new_dofs: Any, shifts: Any,
    order: Any, where: Any, last: Any, sizes: Any,
) -> int:  # fmt: skip
    """Rows of the tree with link `top` on the base by `joint` (a row with its axes and tree transform).

    shifts[top] is given; the others are found. `order[new] = old` and `where[old] = new`; `last[new]` is the degree of
    freedom nearest above what hangs on a link. Returns the chain's length.
    """
    n = links.shape[0]
    chain = order_links(links, top, order, where)
    for i in range(n):
        if i != top:
            store9(shifts[i]["R"], IDENTITY)
            store3(shifts[i]["p"], (0.0, 0.0, 0.0))
    for c in range(1, chain):  # the owner's frame moves to the joint it owned
        user = links[order[c - 1]]
        store9(shifts[order[c]]["R"], load9(user["R"]))
        store3(shifts[order[c]]["p"], load3(user["p"]))
    iq = 0
    iv = 0
    for s in range(n):
        i = order[s]
        l = links[i]
        row = new_links[s]
        row["parent"] = -1
        if s == 0:
            copy_axes(joint, row)
            set_joint(row, load9(joint["R"]), load3(joint["p"]))
        elif s < chain:
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
        row["iq"] = iq
        row["iv"] = iv
        row["nq"] = sizes[0, row["kind"]]
        row["nv"] = sizes[1, row["kind"]]
        move_inertia(l, shifts[i], row)
        if s == 0:
            for j in range(row["nv"]):
                copy_dof(joint_dofs[j], new_dofs[iv + j])
        elif s < chain:
            invert_dofs(row["kind"], row["nv"], dofs, links[order[s - 1]]["iv"], new_dofs, iv)
        else:
            for j in range(row["nv"]):
                copy_dof(dofs[l["iv"] + j], new_dofs[iv + j])
        before = last[row["parent"]] if row["parent"] >= 0 else -1
        for k in range(iv, iv + row["nv"]):
            new_dofs[k]["link"] = s
            new_dofs[k]["parent"] = before
            before = k
        last[s] = before
        iq += row["nq"]
        iv += row["nv"]
    return chain


@kernel(inline=False)
def reroot_state(
    tree: Any, new_links: Any, order: Any, chain: int, top_shift: Any, gravity: Vec3, old: Any, other: Any, new: Any
) -> None:  # fmt: skip
    """State of the new tree: rows q, v, a, tau of `old` become those of `new`; `other` is scratch of the same shape.

    The links' motion must be up to date in the tree's rows (`accelerate_all` of the old state).
    """
    links = rows_at(tree["links"], tree["n"], LINK)
    for s in range(1, tree["n"]):
        inverted = s < chain
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
    extract_top(new_links[0], rows[order[0] + 1], top_shift, gravity, new)


@kernel
def extract_top(joint: Any, d: Any, s: Any, gravity: Vec3, new: Any) -> None:
    """Position, velocity and acceleration of the joint that now carries the top, from its motion in the world."""
    R_old = load9(d["R"])
    R = mul(R_old, load9(s["R"]))
    r = mul_vec(R_old, load3(s["p"]))
    E = load9(joint["R"])
    p = tmul_vec(E, sub(add(load3(d["p"]), r), load3(joint["p"])))
    extract_position(joint, mul(transpose(E), R), p, new[0])  # SPW eq. 22
    w = load3(d["w"])
    u = add(load3(d["v"]), cross(w, r))
    extract_velocity(joint, new[0], tmul_vec(R, w), tmul_vec(R, u), new[1])
    al = load3(d["al"])
    acc = add(add(load3(d["a"]), gravity), add(cross(al, r), cross(w, cross(w, r))))
    bw, bv = bias(joint, new[0], new[1])
    extract_velocity(joint, new[0], sub(tmul_vec(R, al), bw), sub(tmul_vec(R, acc), bv), new[2])


@entry
def _reroot(
    handle: int, top: int, joint: Records, joint_dofs: Records, new_links: Records, new_dofs: Records, shifts: Records,
    order: Integers, where: Integers, last: Integers, sizes: Table, gravity: tuple[float, float, float], old: Matrix,
    other: Matrix, new: Matrix,
) -> int:  # fmt: skip
    tree = rows_at(handle, 1, TREE)[0]
    links = rows_at(tree["links"], tree["n"], LINK)
    dofs = rows_at(tree["dofs"], tree["nv"], DOF)
    chain = reroot_rows(
        links, dofs, top, joint[0], joint_dofs, new_links, new_dofs, shifts, order, where, last, sizes
    )  # fmt: skip
    nq, nv = tree["nq"], tree["nv"]
    accelerate_all(tree, old[0, :nq], old[1, :nv], old[2, :nv])
    reroot_state(tree, new_links, order, chain, shifts[top], gravity, old, other, new)
    return chain


def reroot(
    model: Model,
    state: State,
    link: str | int,
    joint: Joint | None = None,
    at: Pose | Iterable[float] | None = None,
    on: Pose | None = None,
) -> Report:
    """Make a link the top of its tree, carried by a new joint; the joint that carried the old top is gone.

    `joint` is free if not given: then the system is the same one, seen from another link. `at` is the joint's frame in
    the world (a Pose, or a position with the world's axes); a free joint needs none. `on` is where the joint holds the
    link, in the link's frame; if it is not given the joint starts at zero there. Bodies do not move and their
    velocities stay: if the joint cannot move as the link does, an error says so (`connect` is for that, it computes
    the impact).
    """
    top = model.link(link) if isinstance(link, str) else int(link)
    if not 0 <= top < model.n:
        raise IndexError(f"model {model.name!r} has links 0 to {model.n - 1}, not {link}")
    joint = joint or Joint.free()
    q, v, a, tau = checked(
        model, q=state.q, v=state.v, a=_or_zeros(model, state.a), tau=_or_zeros(model, state.tau)
    )  # fmt: skip
    data = Data(model)
    kinematics(model, data, q, v, a)
    now = pose_of(model, data, top)
    frame, held = _placed(joint, now, at, on)
    carrier = _row_of(joint, frame, model.joint_names[top])
    n, nq, nv = model.n, model.nq + 7, model.nv + 6
    new_links, shifts = np.zeros(n, LINK), np.zeros(n, SHIFT)
    new_dofs = np.zeros(nv, DOF)
    shifts[top]["R"], shifts[top]["p"] = held.rotation.ravel(), held.position
    order, where, last = (np.zeros(n, np.int32) for _ in range(3))
    old, other, new = (np.zeros((4, nq)) for _ in range(3))
    for row, values in zip(old, (q, v, a, tau), strict=True):
        row[: len(values)] = values
    gravity = (*model.gravity.tolist(),)
    _reroot(
        data.handle, top, carrier.links.copy(), carrier.dofs.copy(), new_links, new_dofs, shifts, order, where, last,
        SIZES, gravity, old, other, new,
    )  # fmt: skip
    return _reported(model, state, data, joint, new_links, new_dofs, shifts, order, where, new)


def _or_zeros(model: Model, values: Any) -> Any:
    return np.zeros(model.nv) if values is None else values


def _placed(joint: Joint, now: Pose, at: Pose | Iterable[float] | None, on: Pose | None) -> tuple[Pose, Pose]:
    """The joint's frame in the world, and where on the link it holds."""
    if joint.kind is JointKind.FREE:
        if isinstance(at, Pose):
            return at, on or Pose()
        if at is None:
            return Pose(), on or Pose()
        return Pose(), on or Pose(now.inverse().apply(list(at)))
    if at is None:
        raise ValueError(f"a {joint.kind.name.lower()} joint needs a place: give `at`")
    frame = at if isinstance(at, Pose) else Pose(at)
    return frame, on or now.inverse() @ frame


def _row_of(joint: Joint, frame: Pose, name: str) -> Model:
    """The joint as rows, with all checks that a builder makes."""
    b = Builder(name)
    b.link(name, None, joint, frame, Inertia.sphere(1.0, 1.0))
    return b.build()


def _reported(
    model: Model, state: State, data: Data, joint: Joint, new_links: Any, new_dofs: Any, shifts: Any, order: Any,
    where: Any, new: Any,
) -> Report:  # fmt: skip
    """Names, shapes and frames in their new places, and the proof that nothing moved."""
    nq, nv = int(new_links["nq"].sum()), int(new_links["nv"].sum())
    moved = [Pose(s["p"], s["R"].reshape(3, 3)).inverse() for s in shifts]
    joint_names = list(model.joint_names)
    chain = [int(order[0])]
    while model.links[chain[-1]]["parent"] >= 0:
        chain.append(int(model.links[chain[-1]]["parent"]))
    for s, i in enumerate(chain):
        joint_names[i] = model.joint_names[chain[s - 1]] if s else joint.name or model.joint_names[chain[-1]]
    frames = {name: (i, pose if i < 0 else moved[i] @ pose) for name, (i, pose) in model.frames.items()}
    for i in chain:  # a name keeps meaning the same place on the body
        frames.setdefault(model.names[i], (i, moved[i]))
    changed = Model(
        model.name,
        new_links,
        new_dofs[:nv],
        [model.names[i] for i in order],
        [joint_names[i] for i in order],
        _rest_of(model, new_links, order, len(chain), nq),
        model.gravity,
        [[shape.moved(moved[i]) for shape in model.shapes[i]] for i in order],
        {name: (int(where[i]) if i >= 0 else -1, pose) for name, (i, pose) in frames.items()},
        model.mimics,
        model.base_shapes,
    )
    kept = State(
        new[0, :nq].copy(),
        new[1, :nv].copy(),
        None if state.a is None else new[2, :nv].copy(),
        None if state.tau is None else new[3, :nv].copy(),
        state.time,
    )
    kind, name = joint.kind.name.lower(), model.names[order[0]]
    pose_error, twist_error = _differences(data, changed, kept, shifts, order)
    if not pose_error < FITS:
        raise ValueError(
            f"model {model.name!r}: a {kind} joint cannot hold link {name!r} where it is now "
            f"(off by {pose_error:.2g}); give another `at` or `on`"
        )
    if not twist_error < FITS * (1.0 + float(np.abs(state.v).max(initial=0.0))):
        raise ValueError(
            f"model {model.name!r}: link {name!r} moves as a {kind} joint there does not allow "
            f"(off by {twist_error:.2g}); use connect, which computes the impact"
        )
    q_map, v_map = _maps(model, new_links, order, len(chain))
    return Report(changed, kept, where, q_map, v_map, np.zeros(6), np.zeros(nv), 0.0, pose_error, twist_error)


def _maps(model: Model, new_links: Any, order: Any, chain: int) -> tuple[Integers, Integers]:
    """Where entries of joints have gone. The joint of the old top is gone."""
    maps = []
    for start, count, total in (("iq", "nq", model.nq), ("iv", "nv", model.nv)):
        entries = np.full(total, -1, np.int32)
        for s in range(1, model.n):
            l = model.links[order[s - 1] if s < chain else order[s]]
            first, length = int(l[start]), int(l[count])
            entries[first : first + length] = np.arange(new_links[s][start], new_links[s][start] + length)
        maps.append(entries)
    return maps[0], maps[1]


def _rest_of(model: Model, new_links: Any, order: Any, chain: int, nq: int) -> Any:
    """Where springs are slack: an inverted joint's rest is inverted as well."""
    rest = np.zeros(nq)
    zeros, unused = np.zeros(model.nv), (np.zeros(model.nv), np.zeros(model.nv))
    inverted = np.zeros(model.nq)
    for s in range(model.n):
        row = new_links[s]
        to = slice(int(row["iq"]), int(row["iq"] + row["nq"]))
        if s == 0:
            if row["nq"] > row["nv"]:
                rest[to.stop - 4] = 1.0
            continue
        l = model.links[order[s - 1] if s < chain else order[s]]
        source = slice(int(l["iq"]), int(l["iq"] + l["nq"]))
        if s < chain:
            _invert_rest(
                model.links[int(order[s - 1]) : int(order[s - 1]) + 1].copy(),
                model.rest.copy(),
                zeros,
                inverted,
                *unused,
            )
            rest[to] = inverted[source]
        else:
            rest[to] = model.rest[source]
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
