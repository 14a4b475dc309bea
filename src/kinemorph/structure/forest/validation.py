"""Validate the plain tables of a forest from an untrusted file: every index and every list that kernels follow.

A checksum proves that a file is complete, not that it is harmless. Numbers that cannot make a kernel fail, such as a
wrong mass, are not checked.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.multibody.layout import DOF, LINK, NQ, NV
from kinemorph.multibody.model.elements import ELEMENT, ElementKind
from kinemorph.multibody.model.loops import LOOP
from kinemorph.structure.forest import layout as layout
from kinemorph.structure.forest.copying import EXTENT, STATE_VECTOR_COUNT
from kinemorph.structure.forest.layout import BODIES, IN_USE, JOINTS, LOOPS, POOL, TREES

Rows = np.ndarray[Any, Any]
SLOTS = (layout.TREE_SLOT, layout.BODY_SLOT, layout.JOINT_SLOT, layout.LOOP_SLOT)
NAMES = ("trees", "bodies", "joints", "loops")
LIMITS = {"lower", "upper", "velocity_limit", "effort_limit"}  # fields of DOF that may be infinite


def require(condition: Any, what: str) -> None:
    """Raise ValueError with this text unless a condition holds."""
    if not condition:
        raise ValueError(what)


def require_rows(value: Any, dtype: Any, what: str, count: int | None = None) -> Rows:
    """Raise unless a value is an array of rows of one layout, with `count` rows if that is given."""
    require(isinstance(value, np.ndarray) and value.dtype == dtype, f"{what} do not have the expected layout")
    require(value.ndim == 1 and (count is None or len(value) == count), f"{what} are {value.shape}, not {count} rows")
    rows: Rows = value
    return rows


def require_range(values: Rows, low: int, high: Any, what: str) -> None:
    """Raise unless all indices are in the range from `low` to `high` - 1."""
    require(((values >= low) & (values < high)).all(), f"{what} are out of range")


def require_finite(rows: Rows, what: str, but: set[str] | frozenset[str] = frozenset()) -> None:
    """Raise if a number is not finite; in the fields `but` only NaN is refused."""
    for name in rows.dtype.names or ():
        if rows.dtype[name].base.kind == "f":
            good = ~np.isnan(rows[name]) if name in but else np.isfinite(rows[name])
            require(good.all(), f"{what}: {name} has a number that is not finite")


def check_forest(state: Any) -> None:
    """Raise ValueError unless this is a valid result of `Forest.__getstate__`."""
    require(isinstance(state, tuple) and len(state) == 12, "the state of a forest has 12 parts")
    gravity, dependence, pools, tables, ties, drives, elements, ends, extents, links, dofs, numbers = state
    require(isinstance(dependence, float) and 0.0 < dependence < 1.0, f"dependence {dependence} is not between 0 and 1")
    require(isinstance(gravity, list) and len(gravity) == 3, "gravity has three numbers")
    require_rows(pools, POOL, "pools", 4)
    require(isinstance(tables, list) and len(tables) == 4, "a forest has four tables of ids")
    used = [_check_slots(*arguments) for arguments in zip(NAMES, SLOTS, pools, tables, strict=True)]
    _check_trees(used, tables, extents, links, dofs, numbers)
    _check_joints(used, tables)
    _check_loops(used, tables, ties, drives)
    require_rows(elements, ELEMENT, "force elements")
    require_range(elements["kind"], 0, len(ElementKind), "kinds of force elements")
    require_finite(elements, "force elements")
    fits = isinstance(ends, np.ndarray) and ends.dtype == np.int64 and ends.shape == (len(elements), 2)
    require(fits, "ends are invalid")


def _check_slots(name: str, dtype: Any, pool: Any, table: Any) -> Any:
    """Check a table of ids: all unused rows must be on the list of free ones, each once. Returns the used rows."""
    count, used, first = (int(pool[field]) for field in ("count", "used", "free"))
    require_rows(table, dtype, f"ids of {name}", count)
    require_range(table["generation"], 0, np.inf, f"generations of {name}")
    there = table["next"] == IN_USE
    require(used == there.sum(), f"there are {there.sum()} {name}, not {used}")
    nexts, seen, at = table["next"].tolist(), 0, first
    while at >= 0:
        require(at < count and not there[at] and seen < count - used, f"the list of free ids of {name} is broken")
        seen, at = seen + 1, nexts[at]
    require(at == -1 and seen == count - used, f"the list of free ids of {name} is broken")
    return np.flatnonzero(there)


def _check_trees(used: Any, tables: Any, extents: Any, links: Any, dofs: Any, numbers: Any) -> None:
    trees = used[TREES]
    require_rows(extents, EXTENT, "sizes of trees", len(trees))
    require_rows(links, LINK, "links")
    require_rows(dofs, DOF, "degrees of freedom")
    require_rows(numbers, np.dtype(np.float64), "numbers of states")
    n, nq, nv = (extents[name] for name in ("n", "nq", "nv"))
    require_range(n, 1, len(links) + 1, "sizes of trees")
    require_range(nq, 0, len(numbers) + 1, "sizes of trees")
    require_range(nv, 0, len(dofs) + 1, "sizes of trees")
    sizes = len(links), len(numbers), len(dofs)
    fits = (n.sum(), STATE_VECTOR_COUNT * nq.sum(), nv.sum()) == sizes
    require(fits, "the trees do not have all links and numbers, or more")
    of = np.repeat(np.arange(len(trees)), n)
    first = (np.cumsum(n) - n)[of]
    local = np.arange(len(links)) - first
    parent, kind = links["parent"], links["kind"]
    require(((parent >= 0) == (local > 0)).all() and (parent >= -1).all(), "a tree does not begin with its one root")
    require((parent < local).all(), "a link comes before its parent")
    require_range(kind, 0, len(NQ), "kinds of joints")
    for at, size, sizes_of, total in (("iq", "nq", NQ, nq), ("iv", "nv", NV, nv)):
        require((links[size] == np.array(sizes_of)[kind]).all(), f"joints have another {size} than their kind")
        start = np.cumsum(links[size]) - links[size]
        begin = (np.cumsum(total) - total)[of]
        require((links[at] == start - begin).all(), f"{at} of links is not where they are")
        require((np.bincount(of, links[size], len(trees)) == total).all(), "a tree has another size than its links")
    require_finite(links, "links")
    link_of = np.repeat(np.arange(len(links)), links["nv"])
    own = np.arange(len(dofs)) - (np.cumsum(nv) - nv)[of[link_of]]
    require((dofs["link"] == local[link_of]).all(), "a degree of freedom is of another link")
    require(((dofs["parent"] >= -1) & (dofs["parent"] < own)).all(), "a degree of freedom comes before its parent")
    require_finite(dofs, "degrees of freedom", LIMITS)
    _check_states(numbers, nq)
    for which, field in ((BODIES, "body"), (JOINTS, "joint")):
        table = tables[which]
        require_range(links[field], 0, len(table), f"ids of links ({field})")
        slots = table[links[field]]
        here = (slots["next"] == IN_USE) & (slots["tree"] == trees[of]) & (slots["link"] == local)
        require(here.all(), f"the {field} of a link refers to another link")
    require(len(used[BODIES]) == len(links), "there are bodies that are no links")
    require_finite(tables[BODIES], "bodies")


def _check_states(numbers: Rows, nq: Rows) -> None:
    """Check that positions, velocities, forces and rests are finite; other vectors are written before they are read."""
    at = STATE_VECTOR_COUNT * (np.cumsum(nq) - nq)
    for k in (layout.Q, layout.V, layout.TAU, layout.REST):
        start = np.repeat(at + k * nq - (np.cumsum(nq) - nq), nq)
        require(np.isfinite(numbers[start + np.arange(int(nq.sum()))]).all(), "a state has a number that is not finite")


def _check_joints(used: Any, tables: Any) -> None:
    closing = tables[JOINTS][used[JOINTS]]
    index = used[JOINTS][closing["tree"] < 0]
    closing = closing[closing["tree"] < 0]
    require_range(closing["loop"], 0, len(tables[LOOPS]), "loops of joints")
    loops = tables[LOOPS][closing["loop"]]
    require(((loops["next"] == IN_USE) & (loops["joint"] == index)).all(), "the loop of a joint is another joint's")
    require(len(index) == len(used[LOOPS]), "there are loops without joints")
    require(len(used[JOINTS]) == len(used[BODIES]) + len(index), "there are joints that carry nothing")
    require((tables[JOINTS]["loop"][used[JOINTS]] >= 0).sum() == len(index), "a joint carries a link and closes a loop")


def _check_loops(used: Any, tables: Any, ties: Any, drives: Any) -> None:
    loops, bodies, trees = tables[LOOPS], tables[BODIES], tables[TREES]
    require_rows(ties, LOOP, "loops", len(loops))
    require_rows(drives, DOF, "drives of loops", 6 * len(loops))
    require_finite(ties, "loops")
    require_finite(drives, "drives of loops", LIMITS)
    require_range(ties["kind"], 0, len(NQ), "kinds of loops")
    here = ties[used[LOOPS]]
    kind = here["kind"]
    sizes = (here["nq"] == np.array(NQ)[kind]) & (here["nv"] == np.array(NV)[kind]) & (here["m"] == 6 - here["nv"])
    require(sizes.all() and (here["joint"] == loops["joint"][used[LOOPS]]).all(), "a loop is not of its kind")
    ends: dict[int, int] = {}  # the body at each side of each loop
    for k in used[LOOPS].tolist():
        for side, name in enumerate("ab"):
            body = int(loops[k][name])
            require(body == -1 or (0 <= body < len(bodies) and bodies[body]["next"] == IN_USE), "a loop's body is gone")
            if body >= 0:
                ends[2 * k + side] = body
    sides = np.zeros(len(trees), np.int64)
    seen = 0
    for body in np.intersect1d(np.flatnonzero(bodies["side"] >= 0), used[BODIES]).tolist():
        side = int(bodies[body]["side"])
        while side >= 0:
            require(ends.get(side) == body and seen < len(ends), "the list of loops on a body is broken")
            seen += 1
            sides[bodies[body]["tree"]] += 1
            side = int(loops[side >> 1]["next_b" if side & 1 else "next_a"])
    require(seen == len(ends), "the list of loops on a body is broken")
    require((trees["sides"][used[TREES]] == sides[used[TREES]]).all(), "a tree counts other loops than it has")
