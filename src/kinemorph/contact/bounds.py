"""Rows of single degrees of freedom: joint limits, dry friction and motors, each a force with bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph._jit import kernel, rows_at
from kinemorph.contact.layout import BOUND, FULL_BOUNDS, FULL_Y, ISLAND, SPAN, Bounded
from kinemorph.multibody.joints import FREE, SPHERICAL
from kinemorph.multibody.layout import DOF, DOF_DATA, LINK, LINK_DATA, TREE
from kinemorph.multibody.system import F8
from kinemorph.spatial.rows import load3, load3_at
from kinemorph.spatial.vec3 import add, axpy, cross, dot, scale
from kinemorph.structure.forest_layout import TREE_SLOT, Q, V

LOWER, UPPER, DRY = int(Bounded.LOWER), int(Bounded.UPPER), int(Bounded.DRY)
AHEAD = 2.0  # steps: limits that are reached no sooner have no rows


@kernel(inline=False)
def add_unit(tree: Any, link: int, dof: int, sign: float, Y: Any, y: int) -> float:
    """y of a unit force in one degree of freedom of a link's joint. Returns yᵀ y."""
    links = rows_at(tree["links"], tree["n"], LINK)
    rows = rows_at(tree["rows"], tree["n"] + 1, LINK_DATA)
    dof_rows = rows_at(tree["dof_rows"], tree["nv"], DOF_DATA)
    e = dof_rows[dof]
    u = sign * e["D"][0]
    Y[y + dof] = u
    total = u * u
    n, f = scale(load3(e["U"]), -u), scale(load3_at(e["U"], 3), -u)
    first = dof + 1
    while link >= 0:
        l = links[link]
        for k in range(max(first, l["iv"]), l["iv"] + l["nv"]):
            e = dof_rows[k]
            u = e["D"][0] * (dot(load3(e["S"]), n) + dot(load3_at(e["S"], 3), f))
            Y[y + k] = u
            total += u * u
            n, f = axpy(n, -u, load3(e["U"])), axpy(f, -u, load3_at(e["U"], 3))
        n = add(n, cross(load3(rows[link + 1]["r"]), f))
        link, first = l["parent"], 0
    return total


@kernel
def put_bound(s: Any, tree: Any, t: int, link: int, dof: int, what: int) -> int:
    """A row for one degree of freedom; -1 if a table is full."""
    i, used = s["bound_count"], s["Y_used"]
    l = rows_at(tree["links"], tree["n"], LINK)[link]
    length = l["iv"] + l["nv"]
    if i == s["bound_room"]:
        s["full"] |= FULL_BOUNDS
        return -1
    if used + length > s["Y_room"]:
        s["full"] |= FULL_Y
        return -1
    span = rows_at(s["spans"], s["span_room"], SPAN)[t]
    b = rows_at(s["bounds"], s["bound_room"], BOUND)[i]
    Y = rows_at(s["Y"], s["Y_room"], F8)
    for k in range(used, used + length):
        Y[k] = 0.0
    b["what"], b["tree"], b["dof"], b["o"], b["l"], b["y"] = what, t, dof, span["offset"], length, used
    total = add_unit(tree, link, dof, -1.0 if what == UPPER else 1.0, Y, used)
    b["inverse"], b["p"], b["sum"], b["target"], b["most"] = 1.0 / total, 0.0, 0.0, 0.0, np.inf
    b["s"] = b["s0"] = 0.0
    b["acted"] = 0
    s["bound_count"], s["Y_used"] = i + 1, used + length
    return i


@kernel(inline=False)
def fill_tree_bounds(s: Any, slot: Any, t: int) -> bool:
    """Rows for what may be reached in this step, of one tree."""
    tree = rows_at(slot["address"], 1, TREE)[0]
    links, dofs = rows_at(tree["links"], tree["n"], LINK), rows_at(tree["dofs"], tree["nv"], DOF)
    q = rows_at(slot["state"] + 8 * tree["nq"] * Q, tree["nq"], F8)
    v = rows_at(slot["state"] + 8 * tree["nq"] * V, tree["nv"], F8)
    bounds = rows_at(s["bounds"], s["bound_room"], BOUND)
    dt = s["h"] * s["substeps"]
    for i in range(tree["n"]):
        l = links[i]
        if l["kind"] == FREE or l["kind"] == SPHERICAL:
            continue
        for j in range(l["nv"]):
            k = l["iv"] + j
            d, x = dofs[k], q[l["iq"] + j]
            if d["friction"] > 0.0:
                at = put_bound(s, tree, t, i, k, DRY)
                if at < 0:
                    return False
                bounds[at]["most"] = d["friction"]
            near = 0.01 + AHEAD * dt * abs(v[k])
            if x - d["lower"] < near:
                at = put_bound(s, tree, t, i, k, LOWER)
                if at < 0:
                    return False
                bounds[at]["s"] = bounds[at]["s0"] = x - d["lower"]
            if d["upper"] - x < near:
                at = put_bound(s, tree, t, i, k, UPPER)
                if at < 0:
                    return False
                bounds[at]["s"] = bounds[at]["s0"] = d["upper"] - x
    return True


@kernel(inline=False)
def fill_bounds(s: Any, forest: Any) -> bool:
    """Rows of all trees that are awake, island by island. False if a table is full."""
    trees = rows_at(forest["trees"], forest["tree_room"], TREE_SLOT)
    spans, islands = rows_at(s["spans"], s["span_room"], SPAN), rows_at(s["islands"], s["span_room"], ISLAND)
    s["bound_count"] = 0
    for i in range(s["island_count"]):
        islands[i]["first_bound"] = s["bound_count"]
        t = islands[i]["first_tree"]
        while t >= 0:
            tree = rows_at(trees[t]["address"], 1, TREE)[0]
            spans[t]["touched"] = 0
            jointed = tree["n"] > 1 or rows_at(tree["links"], 1, LINK)[0]["kind"] != FREE
            if jointed and not fill_tree_bounds(s, trees[t], t):
                return False
            t = spans[t]["next"]
        islands[i]["bound_count"] = s["bound_count"] - islands[i]["first_bound"]
    return True
