"""What a free root takes of the wrenches that come to it from its links, of four rows at a time.

All rows on a tree that hangs on nothing end there, and its six degrees of freedom have to wait for each other. So the
wrenches that are left of rows wait too, in the six numbers of y that they are going to be, until there are four of
them. A free joint turns about its axes first, and then goes along them: half of its S is zero.
"""

from __future__ import annotations

from typing import Any

from kinemorph._jit import kernel, rows_at
from kinemorph.contact.layout import BOUND, WAITS
from kinemorph.multibody.joints import FREE
from kinemorph.multibody.layout import DOF_DATA, LINK
from kinemorph.multibody.system import F8
from kinemorph.spatial.four import columns, lane, load_from, load_pair, replaced, splat, store_from, store_pair, three
from kinemorph.spatial.rows import load3, load3_at
from kinemorph.spatial.vec3 import Scalar, Vec3, axpy, dot


@kernel
def is_free(tree: Any) -> bool:
    """Whether a tree of joints hangs on nothing."""
    return rows_at(tree["links"], tree["n"], LINK)[0]["kind"] == FREE


@kernel
def let_wait(Y: Any, y: int, stride: int, n: Vec3, f: Vec3) -> None:
    """Three wrenches, side by side, wait in three rows."""
    starts, ends = columns(n[0], n[1], n[2], f[0]), columns(f[1], f[2], f[1], f[2])
    for i in range(3):
        store_from(Y, y + i * stride, starts[i])
        store_pair(Y, y + i * stride + 4, ends[i])


@kernel
def taken(e: Any, along: Vec3, at: int, n: Vec3, f: Vec3) -> tuple[Scalar, Vec3, Vec3]:
    """What one degree of freedom takes of wrenches, and what it leaves; its S from `at` on sees what is `along`."""
    u = e["D"][0] * dot(load3_at(e["S"], at), along)
    return u, axpy(n, -u, load3(e["U"])), axpy(f, -u, load3_at(e["U"], 3))


@kernel
def pass_four(tree: Any, Y: Any, a: int, b: int, c: int, d: int, total: Scalar) -> Scalar:
    """The root takes the wrenches that wait at four places in Y; the same may come twice. Adds yᵀ y to a total."""
    e = rows_at(tree["dof_rows"], tree["nv"], DOF_DATA)
    n0, n1, n2, f0 = columns(load_from(Y, a), load_from(Y, b), load_from(Y, c), load_from(Y, d))
    f1, f2, _, _ = columns(load_pair(Y, a + 4), load_pair(Y, b + 4), load_pair(Y, c + 4), load_pair(Y, d + 4))
    n, f = (n0, n1, n2), (f0, f1, f2)
    u0, n, f = taken(e[0], n, 0, n, f)
    u1, n, f = taken(e[1], n, 0, n, f)
    u2, n, f = taken(e[2], n, 0, n, f)
    u3, n, f = taken(e[3], f, 3, n, f)
    u4, n, f = taken(e[4], f, 3, n, f)
    u5, n, f = taken(e[5], f, 3, n, f)
    starts, ends = columns(u0, u1, u2, u3), columns(u4, u5, u4, u5)
    for i in range(4):
        y = a if i == 0 else b if i == 1 else c if i == 2 else d
        store_from(Y, y, starts[i])
        store_pair(Y, y + 4, ends[i])
    return total + u0 * u0 + u1 * u1 + u2 * u2 + u3 * u3 + u4 * u4 + u5 * u5


@kernel
def pass_rows(tree: Any, Y: Any, y: int, stride: int, count: int) -> None:
    """The root takes what waits in so many rows, which lie side by side from y on."""
    last = y + (count - 1) * stride
    for k in range(y, last + 1, 4 * stride):
        b, c, d = min(k + stride, last), min(k + 2 * stride, last), min(k + 3 * stride, last)
        pass_four(tree, Y, k, b, c, d, splat(0.0))


@kernel
def next_waiting(bounds: Any, i: int, count: int) -> int:
    """The first bound from i on that waits; `count` if there is none."""
    while i < count and bounds[i]["acted"] != WAITS:
        i += 1
    return i


@kernel
def pass_bounds(s: Any, tree: Any, first: int) -> None:
    """The root takes what waits in the bounds from `first` on, all of one tree, and their `inverse` is known then."""
    count = s["bound_count"]
    bounds, Y = rows_at(s["bounds"], count, BOUND), rows_at(s["Y"], s["Y_room"], F8)
    e = rows_at(tree["dof_rows"], tree["nv"], DOF_DATA)
    i = next_waiting(bounds, first, count)
    while i < count:
        j = next_waiting(bounds, i + 1, count)
        k = next_waiting(bounds, j + 1, count)
        l = next_waiting(bounds, k + 1, count)
        then = next_waiting(bounds, l + 1, count)
        j, k, l = j if j < count else i, k if k < count else i, l if l < count else i
        so_far = replaced(
            three(bounds[i]["inverse"], bounds[j]["inverse"], bounds[k]["inverse"]), 3, bounds[l]["inverse"]
        )
        total = pass_four(tree, Y, bounds[i]["y"], bounds[j]["y"], bounds[k]["y"], bounds[l]["y"], so_far)
        for n in range(4):
            b = bounds[i if n == 0 else j if n == 1 else k if n == 2 else l]
            if b["acted"] == WAITS:
                u = e[b["dof"]]["D"][0]
                b["inverse"], b["acted"] = 1.0 / (u * u + lane(total, n)), 0
        i = then
