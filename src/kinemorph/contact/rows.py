"""Rows of contacts: what the joints on both sides take of a normal and two tangential forces, y = L⁻ᵀ jᵀ."""

from __future__ import annotations

from typing import Any

from kinemorph._jit import kernel, rows_at
from kinemorph.collision.contact_table import half_of
from kinemorph.collision.shape_rows import CONTACT, PAIR, PLACE, SHAPE
from kinemorph.constraint.basis import product
from kinemorph.contact.islands import I4
from kinemorph.contact.layout import AGREEMENT, FULL_Y, MATERIAL, SPAN, TOUCH
from kinemorph.contact.mixing import blend
from kinemorph.multibody.joints import FREE
from kinemorph.multibody.layout import DOF_DATA, LINK, LINK_DATA, TREE
from kinemorph.multibody.lone import link_of, lone_of
from kinemorph.multibody.loop_layout import last_dof
from kinemorph.multibody.system import F8
from kinemorph.spatial.mat3 import mul_vec, tmul_vec
from kinemorph.spatial.rows import load3, load3_at, load6, load9, store3, store3_at
from kinemorph.spatial.scalar import sqrt
from kinemorph.spatial.triangle import tri_vec
from kinemorph.spatial.vec3 import Vec3, add, axpy, cross, dot, scale, sub
from kinemorph.structure.forest_layout import BODY_SLOT, TREE_SLOT

OUT_OF_REACH = 1.0  # m: the gap of a contact that nothing can close
RIGID = 1e-20  # share of yᵀ y that is nothing but rounding
STUCK = 1e5  # times the mass of all that moves: who weighs more along a normal does not move along it
STEEP = 0.6  # a normal with less than this along x has its first tangent across x


@kernel
def tangents(n: Vec3) -> tuple[Vec3, Vec3]:
    """Two unit vectors across a unit vector and each other; the same ones for the same vector, always."""
    t = (0.0, n[2], -n[1]) if abs(n[0]) < STEEP else (-n[2], 0.0, n[0])
    t = scale(t, 1.0 / sqrt(dot(t, t)))
    return t, cross(n, t)


@kernel
def add_forces(tree: Any, link: int, x: Vec3, a: Vec3, b: Vec3, c: Vec3, Y: Any, y: int, stride: int) -> None:
    """Add what the joints from a link to the base take of three forces at x to three rows of y."""
    r = sub(x, load3(rows_at(tree["rows"], tree["n"] + 1, LINK_DATA)[link + 1]["p"]))
    add_wrenches(tree, link, cross(r, a), cross(r, b), cross(r, c), a, b, c, Y, y, stride)


@kernel(inline=False)
def add_wrenches(
    tree: Any, link: int, na: Vec3, nb: Vec3, nc: Vec3, a: Vec3, b: Vec3, c: Vec3, Y: Any, y: int, stride: int
) -> None:
    """The same of three wrenches, moments and forces at the link's origin."""
    links = rows_at(tree["links"], tree["n"], LINK)
    rows = rows_at(tree["rows"], tree["n"] + 1, LINK_DATA)
    dof_rows = rows_at(tree["dof_rows"], tree["nv"], DOF_DATA)
    while link >= 0:
        l = links[link]
        for k in range(l["iv"], l["iv"] + l["nv"]):
            e = dof_rows[k]
            w, v, D = load3(e["S"]), load3_at(e["S"], 3), e["D"][0]
            ua = D * (dot(w, na) + dot(v, a))
            ub = D * (dot(w, nb) + dot(v, b))
            uc = D * (dot(w, nc) + dot(v, c))
            Y[y + k] += ua
            Y[y + stride + k] += ub
            Y[y + 2 * stride + k] += uc
            n, f = load3(e["U"]), load3_at(e["U"], 3)
            na, nb, nc = axpy(na, -ua, n), axpy(nb, -ub, n), axpy(nc, -uc, n)
            a, b, c = axpy(a, -ua, f), axpy(b, -ub, f), axpy(c, -uc, f)
        r = load3(rows[link + 1]["r"])
        na, nb, nc = add(na, cross(r, a)), add(nb, cross(r, b)), add(nc, cross(r, c))
        link = l["parent"]


@kernel(inline=False)
def add_alone(tree: Any, x: Vec3, a: Vec3, b: Vec3, c: Vec3, Y: Any, y: int, stride: int) -> None:
    """The same for a lone body, in closed form; nothing else is in these rows."""
    lone, d = lone_of(tree), link_of(tree)
    R, K, light = load9(d["R"]), load6(lone["K"]), lone["light"]
    r = sub(sub(x, load3(d["p"])), mul_vec(R, load3(lone["c"])))
    store3_at(Y, y, tri_vec(K, tmul_vec(R, cross(r, a))))
    store3_at(Y, y + 3, scale(a, light))
    store3_at(Y, y + stride, tri_vec(K, tmul_vec(R, cross(r, b))))
    store3_at(Y, y + stride + 3, scale(b, light))
    store3_at(Y, y + 2 * stride, tri_vec(K, tmul_vec(R, cross(r, c))))
    store3_at(Y, y + 2 * stride + 3, scale(c, light))


@kernel
def stretch(forest: Any, spans: Any, body: int) -> tuple[int, int, bool]:
    """Where a body's rows are in z, first entry and length, 0 for what does not move; and whether it is jointed."""
    if body < 0:
        return 0, 0, False
    slot = rows_at(forest["bodies"], forest["body_room"], BODY_SLOT)[body]
    offset = spans[slot["tree"]]["offset"]
    if offset < 0:
        return 0, 0, False
    trees = rows_at(forest["trees"], forest["tree_room"], TREE_SLOT)
    tree = rows_at(trees[slot["tree"]]["address"], 1, TREE)[0]
    if tree["lone"] != 0:
        return offset, 6, False
    return offset, last_dof(tree, slot["link"]) + 1, True


@kernel
def add_side(forest: Any, body: int, t: Any, x: Vec3, sign: float, Y: Any, y: int, stride: int) -> None:
    """The part of one body in the rows of a touch."""
    slot = rows_at(forest["bodies"], forest["body_room"], BODY_SLOT)[body]
    trees = rows_at(forest["trees"], forest["tree_room"], TREE_SLOT)
    tree = rows_at(trees[slot["tree"]]["address"], 1, TREE)[0]
    n, t1, t2 = scale(load3(t["normal"]), sign), scale(load3(t["t1"]), sign), scale(load3(t["t2"]), sign)
    if tree["lone"] != 0:
        add_alone(tree, x, n, t1, t2, Y, y, stride)
        return
    add_forces(tree, slot["link"], x, n, t1, t2, Y, y, stride)


@kernel
def weigh(t: Any, Y: Any) -> None:
    """The products of the three rows of a touch: what its impulses feel."""
    stride = t["l1"] + t["l2"]
    a, b, c = t["y"], t["y"] + stride, t["y"] + 2 * stride
    nn = n1 = n2 = t11 = t12 = t22 = 0.0
    for k in range(stride):
        u, v, w = Y[a + k], Y[b + k], Y[c + k]
        nn += u * u
        n1 += u * v
        n2 += u * w
        t11 += v * v
        t12 += v * w
        t22 += w * w
    t["inverse"], t["an1"], t["an2"] = 1.0 / nn if nn > 0.0 else 0.0, n1, n2  # 0: nothing moves along the normal
    determinant = t11 * t22 - t12 * t12
    middle, half = 0.5 * (t11 + t22), sqrt(0.25 * (t11 - t22) * (t11 - t22) + t12 * t12)
    t["least"] = 1.0 / (middle + half) if middle > 0.0 else 0.0
    if determinant > 1e-12 * middle * middle:
        t["b11"], t["b12"], t["b22"] = t22 / determinant, -t12 / determinant, t11 / determinant
    else:  # motion along one tangent only
        t["b11"], t["b12"], t["b22"] = t["least"], 0.0, t["least"]


@kernel(inline=False)
def mass_held(forest: Any, a: int, b: int) -> float:
    """kg, of the heavier of the trees of two bodies that the base holds, if nothing else moves; else 0."""
    bodies = rows_at(forest["bodies"], forest["body_room"], BODY_SLOT)
    trees = rows_at(forest["trees"], forest["tree_room"], TREE_SLOT)
    most = 0.0
    for body in (a, b):
        if body >= 0:
            tree = rows_at(trees[bodies[body]["tree"]]["address"], 1, TREE)[0]
            links = rows_at(tree["links"], tree["n"], LINK)
            if links[0]["kind"] == FREE:
                return 0.0
            mass = 0.0
            for i in range(tree["n"]):
                mass += links[i]["mass"]
            most = max(most, mass)
    return most


@kernel
def go_easy(s: Any, t: Any, held: float) -> None:
    """Do not push a tree that the base holds along a normal that goes through what holds it, or nearly so.

    There it weighs more than it has mass, and to move along the normal it must go many times as fast otherwise. Overlap
    counts for no more than can be pushed apart in a step when all that moves is no faster than `push`.
    """
    if held > 0.0 and t["inverse"] > held:
        deepest = s["push"] * s["h"] * s["substeps"] * sqrt(held / t["inverse"])
        t["s"] = t["s0"] = max(t["s0"], -deepest)
        if t["inverse"] > STUCK * held:
            t["inverse"] = 0.0  # it would take any speed


@kernel
def leave_out(t: Any, Y: Any, y: int, length: int) -> None:
    """Have no impulse at a contact along whose normal nothing can move, for its two sides are tied to each other."""
    for k in range(y, y + 3 * length):
        Y[k] = 0.0
    t["s"] = t["s0"] = OUT_OF_REACH
    t["pn"] = t["p1"] = t["p2"] = t["friction"] = t["restitution"] = 0.0


@kernel
def slide_of(c: Any, shape: int, material: Any) -> Vec3:
    """Velocity of a shape's surface along itself, in the world."""
    return mul_vec(load9(rows_at(c["places"], c["n"], PLACE)[shape]["R"]), load3(material["surface"]))


@kernel
def mix(t: Any, c: Any, pair: Any, materials: Any, agreed: Any) -> None:
    """What the materials of both shapes make of a touch."""
    one, other = materials[pair["a"]], materials[pair["b"]]
    t["friction"], t["restitution"], _, _ = blend(materials, agreed, pair["a"], pair["b"])
    slip = sub(slide_of(c, pair["b"], other), slide_of(c, pair["a"], one))
    t["w1"], t["w2"] = dot(slip, load3(t["t1"])), dot(slip, load3(t["t2"]))


@kernel
def start_touch(
    t: Any, c: Any, k: Any, pair: Any, materials: Any, agreed: Any, before: Any, at: int, gap: float
) -> None:
    """What a touch is before its rows are known: where it is, of what, and the impulse that it had."""
    n = load3(k["normal"])
    t1, t2 = tangents(n)
    store3(t["normal"], n)
    store3(t["t1"], t1)
    store3(t["t2"], t2)
    t["s0"] = t["s"] = k["distance"] - gap
    p = load3_at(before, 3 * (at + k["before"])) if k["before"] >= 0 else (0.0, 0.0, 0.0)
    t["pn"], t["p1"], t["p2"] = max(0.0, dot(p, n)), dot(p, t1), dot(p, t2)
    t["kept"][0], t["kept"][1], t["kept"][2] = t["pn"], t["p1"], t["p2"]
    t["sum"] = t["sum1"] = t["sum2"] = 0.0
    t["acted"] = 0
    mix(t, c, pair, materials, agreed)


@kernel(inline=False)
def fill_touches(s: Any, forest: Any, c: Any) -> bool:
    """Rows for the contacts of islands that are awake, in their order. False if a table is full."""
    shapes, pairs = rows_at(c["shapes"], c["n"], SHAPE), rows_at(c["pairs"], c["room"], PAIR)
    room = c["contact_room"]
    now = half_of(c["step"], room)
    contacts = rows_at(c["contacts"], 2 * room, CONTACT)
    spans = rows_at(s["spans"], s["span_room"], SPAN)
    touches, order = rows_at(s["touches"], s["touch_room"], TOUCH), rows_at(s["order"], s["touch_room"], I4)
    materials = rows_at(s["materials"], s["material_room"], MATERIAL)
    agreed = rows_at(s["agreements"], s["agreement_count"], AGREEMENT)
    impulses = rows_at(s["impulses"], 3 * s["impulse_room"], F8)
    Y = rows_at(s["Y"], s["Y_room"], F8)
    bodies = rows_at(forest["bodies"], forest["body_room"], BODY_SLOT)
    used = s["Y_used"]
    for i in range(s["touch_count"]):
        t = touches[i]
        k = contacts[now + order[i]]
        pair = pairs[k["pair"]]
        a, b = shapes[pair["a"]]["link"], shapes[pair["b"]]["link"]
        o1, l1, jointed1 = stretch(forest, spans, a)
        o2, l2, jointed2 = stretch(forest, spans, b)
        joined = l1 > 0 and l2 > 0 and bodies[a]["tree"] == bodies[b]["tree"]
        if joined:
            o1, l1, l2 = 0, 0, max(l1, l2)
        length = l1 + l2
        if used + 3 * length > s["Y_room"]:
            s["full"] |= FULL_Y
            return False
        t["contact"], t["y"], t["o1"], t["l1"], t["o2"], t["l2"] = order[i], used, o1, l1, o2, l2
        start_touch(t, c, k, pair, materials, agreed, impulses, room - now, s["gap"])
        if jointed1 or jointed2:
            for e in range(used, used + 3 * length):
                Y[e] = 0.0
        x = scale(add(load3(k["x1"]), load3(k["x2"])), 0.5)
        if l1 > 0 or joined:
            add_side(forest, a, t, x, -1.0, Y, used, length)
        alone = product(Y, used, Y, used, length) if joined else 0.0
        if l2 > 0:
            add_side(forest, b, t, x, 1.0, Y, used + l1, length)
        if joined and product(Y, used, Y, used, length) <= RIGID * alone:
            leave_out(t, Y, used, length)
        weigh(t, Y)
        if jointed1 or jointed2:
            go_easy(s, t, mass_held(forest, a, b))
        t["tree1"] = bodies[a]["tree"] if l1 > 0 else -1
        t["tree2"] = bodies[b]["tree"] if l2 > 0 else -1
        used += 3 * length
    s["Y_used"] = used
    return True
