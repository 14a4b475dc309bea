"""Whether a solver and a world, from wherever they come, can be trusted by kernels, once each of their parts can."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from kinemorph.collision.collisions import Collisions
from kinemorph.collision.tables import Tables
from kinemorph.contact.layout import SOLVER, SOLVER_KIND
from kinemorph.contact.solver import USED, Solver
from kinemorph.geometry.material import Material
from kinemorph.structure.forest import Forest
from kinemorph.structure.forest_check import Rows, demand, finite, rows_of, within
from kinemorph.structure.forest_layout import BODIES, IN_USE, TREES
from kinemorph.world.codec import LARGEST
from kinemorph.world.layout import WORLD, WORLD_KIND, Phase

MOST_SUBSTEPS, MOST_ROUNDS, MOST_WORK = 100, 1000, 10**12
# How many rows each table of the solver has, by what its header says. A new table belongs here, too: what a kernel
# takes the header's word for must be true of a file.
ROOMS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("spans", "islands"), lambda h: h["span_room"]),
    **dict.fromkeys(("z", "za", "moved", "g", "z0", "x", "row_of", "low", "start"), lambda h: h["z_room"]),
    **dict.fromkeys(("touches", "order", "rests"), lambda h: h["touch_room"]),
    "bounds": lambda h: h["bound_room"],
    "grips": lambda h: h["touch_room"] + h["bound_room"],
    "envelope": lambda h: h["envelope_room"],
    "Y": lambda h: h["Y_room"],
    "materials": lambda h: h["material_room"],
    "impulses": lambda h: 3 * h["impulse_room"],
}
COUNTS = {"touch_count": "touch_room", "bound_count": "bound_room", "island_count": "span_room", "nz": "z_room"}


def check_tables(state: Any) -> None:
    """Raise ValueError unless this is what `Tables.__getstate__` gives: no addresses, and no endless memory."""
    demand(isinstance(state, tuple) and len(state) == 3, "tables have other parts")
    header, used, tables = state
    demand(isinstance(header, np.ndarray) and header.shape == (1,) and header.dtype.names, "tables have no header")
    demand(isinstance(used, dict) and isinstance(tables, dict), "tables have no names")
    total = 0
    for name, one in tables.items():
        demand(name in header.dtype.names and header[name][0] == 0, f"table {name!r:.40} has an address, or no field")
        demand(isinstance(one, tuple) and len(one) == 2, f"table {name!r:.40} is none")
        room, rows = one
        demand(isinstance(rows, np.ndarray) and rows.ndim == 1, f"table {name!r:.40} is none")
        demand(type(room) is int and len(rows) <= room <= LARGEST, f"table {name!r:.40} has {room} rows")
        total += room * rows.dtype.itemsize
    demand(total <= LARGEST, f"its tables would take {total} bytes, more than {LARGEST}")


def check_solver(tables: Any) -> None:
    """Raise ValueError unless these are the tables of a solver, as long as its header says."""
    demand(isinstance(tables, Tables) and tables.header.dtype == SOLVER, "a solver has other tables")
    h, model = tables.header[0], Solver()
    demand(h["kind"] == SOLVER_KIND and tables.used == USED, "a solver has another layout")
    demand({name for name, _ in tables} == {name for name, _ in model.__getstate__()}, "a solver has other tables")
    for name, rows in tables:
        demand(name in ROOMS, f"nobody knows how long table {name!r} of a solver must be")
        rows_of(rows, model[name].dtype, f"{name} of the solver", int(ROOMS[name](h)))
    for count, room in COUNTS.items():
        demand(0 <= h[count] <= h[room], f"{count} of the solver is {h[count]}")
    demand(h["impulse_room"] % 2 == 0 and h["full"] == 0, "a solver is in the middle of a step")
    demand(1 <= h["substeps"] <= MOST_SUBSTEPS and h["h"] > 0.0, f"a solver makes {h['substeps']} substeps")
    demand(0 <= h["rounds"] <= MOST_ROUNDS and 0 <= h["direct_work"] <= MOST_WORK, "a solver has no such settings")
    finite(tables.header, "a solver")
    finite(tables["spans"], "trees in the solver")
    within(tables["spans"]["asleep"], 0, 2, "sleep of trees")
    finite(tables["materials"], "materials")


def check_world(state: Any) -> None:
    """Raise ValueError unless this is what `World.__getstate__` gives, or as good as that."""
    demand(isinstance(state, tuple) and len(state) == 8, "a world has other parts")
    forest, collisions, solver, header, material, names, mounted, births = state
    kinds = (Forest, Collisions, Solver, Material)
    parts = (forest, collisions, solver, material)
    demand(all(isinstance(p, k) for p, k in zip(parts, kinds, strict=True)), "a world has other parts")
    h, s, c = rows_of(header, WORLD, "the header of a world", 1)[0], solver.header[0], collisions.header[0]
    demand(h["kind"] == WORLD_KIND and h["phase"] == Phase.MOVE, "a world is in the middle of a step")
    demand(all(h[name] == 0 for name in ("forest", "collisions", "solver")), "a world has addresses")
    demand(0.0 < h["dt"] <= 0.1 and math.isfinite(h["time"]) and 0 <= h["steps"] < 1 << 62, "a world has no such time")
    demand(h["slow"] >= 0.0 and h["patience"] > 0.0, "a world has no such sleep")
    demand(math.isclose(s["h"] * s["substeps"], h["dt"], rel_tol=1e-9), "substeps do not make a step")
    trees, shapes = int(forest._pools[TREES]["count"]), collisions.shapes.count
    demand(trees <= s["span_room"] and shapes <= s["material_room"], "a solver has no room for all trees and shapes")
    demand(2 * c["contact_room"] == s["impulse_room"], "a solver has no room for all contacts")
    demand(-1 <= h["tree"] < max(trees, 1), "a world names a tree that is not there")
    within(solver.touches["contact"], 0, c["n_contacts"], "contacts of the solver")
    within(solver.bounds["tree"], 0, trees, "trees of the solver")
    bodies = forest.bodies.tolist()
    for named, kind in ((names, str), (births, int)):
        good = isinstance(named, dict) and set(named) == set(bodies)
        demand(good and all(type(x) is kind for x in named.values()), "bodies have no names, or names no bodies")
    _mounted_shapes(forest._tables[BODIES], collisions, mounted)


def _mounted_shapes(bodies: Rows, collisions: Any, mounted: Any) -> None:
    """Shapes are on bodies that there are, and known to be on them."""
    shapes = collisions.shapes
    found: dict[int, set[int]] = {}
    for id in shapes.ids:
        link = shapes.link(id)
        demand(link == -1 or (link < len(bodies) and bodies[link]["next"] == IN_USE), f"shape {id} is on no body")
        found.setdefault(link, set()).add(id)
    demand(isinstance(mounted, dict) and all(type(ids) is list for ids in mounted.values()), "shapes are on no bodies")
    there = {link: set(ids) for link, ids in mounted.items() if ids}
    demand(there == found and all(len(set(ids)) == len(ids) for ids in mounted.values()), "shapes are on other bodies")
