"""Whether a solver and a world, from wherever they come, can be trusted by kernels, once each of their parts can."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from kinemorph.collision.collisions import Collisions
from kinemorph.contact.layout import FROM_OUTSIDE, SOLVER, SOLVER_KIND, WOKEN_BY_LOSS, DriveKind
from kinemorph.contact.solver import ROWS_IN_USE, Solver
from kinemorph.geometry.material import Material
from kinemorph.motion.events import EVENT, EventKind
from kinemorph.multibody.tables import Tables
from kinemorph.spatial.arguments.checks import repr_of
from kinemorph.structure.forest.forest import Forest
from kinemorph.structure.forest.layout import BODIES, IN_USE, JOINTS, LOOPS, TREES
from kinemorph.structure.forest.memory import ID_INDEX_MASK
from kinemorph.structure.forest.validation import Rows, require, require_finite, require_range, require_rows
from kinemorph.world.brains.brain_instances import BrainInstances
from kinemorph.world.control.events import EventMonitors
from kinemorph.world.control.timers import Timers
from kinemorph.world.figures import check_figures
from kinemorph.world.layout import WORLD, WORLD_KIND, ContactModel, Phase
from kinemorph.world.persistence.codec import LARGEST_ENCODED_BYTES

SHORTEST_DIRECTION = 1e-100  # of a direction: the squares of shorter ones are nothing
MOST_SUBSTEPS, MOST_ROUNDS, MOST_WORK = 100, 1000, 10**12
# How many rows each table of the solver has, by what its header says. A new table belongs here, too: what a kernel
# takes the header's word for must be true of a file.
ROOMS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("slices", "roots", "islands"), lambda h: h["slice_room"]),
    **dict.fromkeys(("z", "za", "displacement", "g", "z0", "x", "row_of", "low", "start"), lambda h: h["z_room"]),
    **dict.fromkeys(("contacts", "order", "supports", "torsional_constraints"), lambda h: h["contact_room"]),
    "undo": lambda h: 3 * h["z_room"],
    "stages": lambda h: 26 * h["z_room"],
    "dof_constraints": lambda h: h["dof_constraint_room"],
    "cost_rows": lambda h: h["contact_room"] + h["dof_constraint_room"],
    "skyline": lambda h: h["skyline_room"],
    "Y": lambda h: h["Y_room"],
    "materials": lambda h: h["material_room"],
    **dict.fromkeys(("impulses", "moments"), lambda h: 3 * h["impulse_room"]),
    "wrenches": lambda h: 6 * h["wrench_room"],
    "drives": lambda h: h["drive_room"],
    "warm_joints": lambda h: h["joint_room"],
    "applied_forces": lambda h: h["applied_force_room"],
    "pair_materials": lambda h: h["pair_material_room"],
}
COUNTS = {
    "contact_count": "contact_room", "torsional_count": "contact_room", "dof_constraint_count": "dof_constraint_room",
    "island_count": "slice_room", "nz": "z_room", "drive_count": "drive_room",
    "applied_force_count": "applied_force_room", "pair_material_count": "pair_material_room",
}  # fmt: skip
# addresses in the forest's scratch
OF_A_STEP = ("loop_projections", "loop_projection_count", "element_constraints", "element_count")


def check_tables(state: Any) -> None:
    """Raise ValueError unless this is what `Tables.__getstate__` gives: no addresses, and no endless memory."""
    require(isinstance(state, tuple) and len(state) == 3, "tables have other parts")
    header, used, tables = state
    require(isinstance(header, np.ndarray) and header.shape == (1,) and header.dtype.names, "tables have no header")
    require(isinstance(used, dict) and isinstance(tables, dict), "tables have no names")
    for name, one in tables.items():
        require(name in header.dtype.names and header[name][0] == 0, f"table {name!r:.40} has an address, or no field")
        require(isinstance(one, tuple) and len(one) == 2, f"table {name!r:.40} is none")
        room, rows = one
        require(isinstance(rows, np.ndarray) and rows.ndim == 1, f"table {name!r:.40} is none")
        require(type(room) is int and len(rows) <= room <= LARGEST_ENCODED_BYTES, f"table {name!r:.40} has {room} rows")


def room_of_tables(state: Any) -> int:
    """Bytes of all tables in such a state."""
    _, _, tables = state
    return sum(room * rows.dtype.itemsize for room, rows in tables.values())


def check_solver(tables: Any) -> None:
    """Raise ValueError unless these are the tables of a solver, as long as its header says."""
    require(isinstance(tables, Tables) and tables.header.dtype == SOLVER, "a solver has other tables")
    solver, model = tables.header[0], Solver()
    require(solver["kind"] == SOLVER_KIND and tables.used == ROWS_IN_USE, "a solver has another layout")
    require({name for name, _ in tables} == {name for name, _ in model.__getstate__()}, "a solver has other tables")
    for name, rows in tables:
        require(name in ROOMS, f"nobody knows how long table {name!r} of a solver must be")
        require_rows(rows, model[name].dtype, f"{name} of the solver", int(ROOMS[name](solver)))
    for count, room in COUNTS.items():
        require(0 <= solver[count] <= solver[room], f"{count} of the solver is {solver[count]}")
    require(all(solver[name] == 0 for name in OF_A_STEP), "a solver has addresses")
    require(solver["impulse_room"] % 2 == 0 and solver["full"] == 0, "a solver is in the middle of a step")
    fits = 1 <= solver["substeps"] <= MOST_SUBSTEPS and solver["h"] > 0.0
    require(fits, f"a solver makes {solver['substeps']} substeps")
    fits = 0 <= solver["friction_rounds"] <= MOST_ROUNDS and 0 <= solver["direct_work"] <= MOST_WORK
    require(fits, "a solver has no such settings")
    require_finite(tables.header, "a solver")
    require_finite(tables["slices"], "trees in the solver")
    require_range(tables["slices"]["asleep"], 0, 2, "sleep of trees")
    require_finite(tables["materials"], "materials")
    require_finite(tables["warm_joints"], "forces of joints")
    of_drives = {"damping", "smallest_force", "largest_force"}
    for name, but in (("drives", of_drives), ("applied_forces", set()), ("pair_materials", set())):
        require_finite(tables[name], name, but)
    require_range(tables["drives"]["kind"], 0, len(DriveKind), "drives")
    require_range(tables["drives"]["dof"], 0, 6, "degrees of freedom of drives")


def check_world(state: Any) -> None:
    """Raise ValueError unless this is what `World.__getstate__` gives, or as good as that."""
    require(isinstance(state, tuple) and len(state) == 17, "a world has other parts")
    forest, collisions, solver, header, material, names, joints, mounted, parted, births, monitors, timers = state[:12]
    memory, dice, figures, minds, _ = state[12:]  # the recorder checks its own
    kinds = (Forest, Collisions, Solver, Material, EventMonitors, Timers, BrainInstances)
    parts = (forest, collisions, solver, material, monitors, timers, minds)
    require(all(isinstance(p, k) for p, k in zip(parts, kinds, strict=True)), "a world has other parts")
    world, s, c = require_rows(header, WORLD, "the header of a world", 1)[0], solver.header[0], collisions.header[0]
    require(world["kind"] == WORLD_KIND and world["phase"] == Phase.MOVE, "a world is in the middle of a step")
    addresses = ("forest", "collisions", "solver", "events", "event_count", "minds", "mind_count", "crew", "clock")
    require(all(world[name] == 0 for name in addresses), "a world has addresses")
    require(world["elapsed"] == 0.0 and world["part"] == 0.0, "a world is in the middle of a step")
    fits = 0.0 < world["dt"] <= 0.1 and math.isfinite(world["time"]) and 0 <= world["steps"] < 1 << 62
    require(fits, "a world has no such time")
    require(0.0 <= world["fluid"] <= 1e6 and 0.0 <= world["drag"] <= 1e3, "a world has no such fluid")
    require_range(minds["effects"]["drive"], -1, int(s["drive_room"]), "drives of minds")
    require(world["slow"] >= 0.0 and world["patience"] > 0.0, "a world has no such sleep")
    require(math.isclose(s["h"] * s["substeps"], world["dt"], rel_tol=1e-9), "substeps do not make a step")
    _impulses(world, s)
    trees, shapes = int(forest._pools[TREES]["count"]), collisions.shapes.count
    require(trees <= s["slice_room"] and shapes <= s["material_room"], "a solver has no room for all trees and shapes")
    require(int(forest._pools[JOINTS]["count"]) <= s["joint_room"], "a solver has no room for all joints")
    require(2 * c["contact_room"] == s["impulse_room"], "a solver has no room for all contacts")
    require(-1 <= world["tree"] < max(trees, 1), "a world names a tree that is not there")
    require_range(solver.contact_constraints["contact"], 0, c["n_contacts"], "contacts of the solver")
    require_range(solver.torsional_constraints["contact_constraint"], 0, s["contact_count"], "twists of the solver")
    require_range(solver.dof_constraints["tree"], 0, trees, "trees of the solver")
    require_range(solver["slices"]["woken_by"], WOKEN_BY_LOSS, trees + 1, "what has woken trees")
    require_range(solver["slices"]["touched"], 0, FROM_OUTSIDE + 1, "what has touched trees")
    _acting(forest, collisions, solver)
    _named_joints(joints, parted)
    _numbers(memory, dice)
    check_figures(figures, int(s["drive_room"]))
    bodies = forest.bodies.tolist()
    for named, kind in ((names, str), (births, int)):
        good = isinstance(named, dict) and set(named) == set(bodies)
        require(good and all(type(x) is kind for x in named.values()), "bodies have no names, or names no bodies")
    _mounted_shapes(forest._tables[BODIES], collisions, mounted)


def _impulses(world: Any, solver: Any) -> None:
    """The settings of the model of contact, and what it has counted."""
    r = world["impacts"]
    require(world["model"] in list(ContactModel), f"a world has contact model {world['model']}")
    if world["model"] == ContactModel.IMPULSE:
        require(1e-6 <= r["epsilon"] <= 1.0 and solver["gap"] == 0.5 * r["epsilon"], "a world has no such envelope")
        require(0.0 <= r["slow"] < math.inf and 0.0 <= r["boost"] <= 10.0, "a world has no such collisions")
        require(world["within"] >= 0.0 and world["longest_part"] > 0.0, "a world has no such parts of steps")
    else:
        require(solver["gap"] == 0.0, "a world keeps a gap")


def _acting(forest: Any, collisions: Any, solver: Any) -> None:
    """Drives are of degrees of freedom that joints have, forces of bodies, pair materials of shapes that are there."""
    s = solver.header[0]
    drives, applied_forces = solver["drives"][: s["drive_count"]], solver["applied_forces"][: s["applied_force_count"]]
    for name in ("joint", "source"):  # those of joints that are gone have had a row, too
        indices = drives[name][drives[name] >= 0] & ID_INDEX_MASK
        require_range(indices, 0, max(int(forest._pools[JOINTS]["count"]), 1), "joints that are driven")
    for drive in drives:
        joint = int(drive["joint"])
        if forest.has_joint(joint):
            loop = int(forest._tables[JOINTS][joint & ID_INDEX_MASK]["loop"])
            size = int(forest._ties[loop]["nv"]) if loop >= 0 else len(forest.velocity(joint))
            require(drive["dof"] < size, f"a drive is in degree of freedom {drive['dof']} of a joint that has {size}")
    indices = applied_forces["body"][applied_forces["body"] >= 0] & ID_INDEX_MASK
    require_range(indices, 0, int(forest._pools[BODIES]["count"]), "bodies that are pushed")
    agreed = solver["pair_materials"][: s["pair_material_count"]]
    for side in "ab":
        require_range(agreed[side], -1, max(collisions.shapes.count, 1), "shapes that agree")
    require(s["wrench_room"] >= forest._pools[LOOPS]["count"], "a solver has no room for all loops")


def _named_joints(joints: Any, parted: Any) -> None:
    good = isinstance(joints, dict) and all(type(k) is int and type(v) is str for k, v in joints.items())
    require(good and isinstance(parted, dict), "joints have no names")
    for joint, pairs in parted.items():
        each = isinstance(pairs, list) and all(
            isinstance(pair, tuple) and len(pair) == 2 and all(type(x) is int for x in pair) for pair in pairs
        )
        require(type(joint) is int and each, "joints part no shapes")


def _numbers(memory: Any, dice: Any) -> None:
    """The numbers of controllers, and the state of the random numbers."""
    check_memory(memory)
    require(isinstance(dice, tuple) and len(dice) == 6 and all(type(x) is int for x in dice), "there are no dice")
    fits = all(0 <= x < 1 << 64 for x in dice[:4]) and dice[4] in (0, 1) and 0 <= dice[5] < 1 << 32
    require(fits, "there are no dice")
    require(dice[3] % 2 == 1, "there are no dice")


def check_memory(memory: Any) -> None:
    """Raise unless this is what a world can remember: numbers and arrays of them, by names."""
    if not isinstance(memory, dict):
        raise TypeError(f"world: memory is {repr_of(memory)}, and must be a dict")
    for name, value in memory.items():
        good = isinstance(value, Real) or (isinstance(value, np.ndarray) and value.dtype.kind in "biuf")
        if not (isinstance(name, str) and good):
            what = f"world: memory[{repr_of(name)}] is {repr_of(value)}"
            raise TypeError(f"{what}; names are strings, and what is remembered is numbers or arrays of them")


def check_timers(plain: Any) -> None:
    """Raise ValueError unless these are timers without functions."""
    require(isinstance(plain, list), "timers are none")
    for one in plain:
        require(isinstance(one, tuple) and len(one) == 5, "a timer is none")
        name, period, start, count, number = one
        whole = all(type(x) is int and 0 <= x < 1 << 62 for x in (count, number))
        require(type(name) is str and whole, "a timer is none")
        require(type(period) is float and type(start) is float, "a timer has no time")
        require(0.0 < period < math.inf and math.isfinite(start), "a timer has no time")


def check_monitors(plain: Any) -> None:
    """Raise ValueError unless these are events without functions."""
    require(isinstance(plain, tuple) and len(plain) == 2 and isinstance(plain[0], list), "events are none")
    require_rows(plain[1], EVENT, "events", len(plain[0]))
    require_range(plain[1]["side"], -1, 2, "sides of events")
    known = plain[1]["kind"] != EventKind.LOAD  # the momenta that a load keeps are not numbers until they are known
    require_finite(plain[1][known], "events")
    for one in plain[0]:
        require(isinstance(one, tuple) and len(one) == 13, "an event is none")
        name, direction, ends, times, kind, level, entry, grounds, numbers, ids, number, count, lacks = one
        require(type(number) is int and 0 <= number < 1 << 62, "an event has no number")
        whole = all(type(x) is int for x in (direction, ends, kind, entry, count)) and type(lacks) is bool
        require(type(name) is str and whole and type(times) is type(level) is float, "an event is none")
        require(direction in (-1, 0, 1) and ends >= 0 and times >= 0 and math.isfinite(level), "an event is none")
        require(0 <= entry < 7 and 0 <= count < 1 << 62 and ends < 1 << 62, "an event is none")
        places = {EventKind.CALL: 0, EventKind.TIME: 0, EventKind.ALONG: 2, EventKind.DISTANCE: 2}
        places |= {EventKind.CONTACT: 2, EventKind.IMPULSE: 2}
        require(kind in list(EventKind), f"there is no event of kind {kind}")
        size = places.get(EventKind(kind), 1)
        good = all(isinstance(part, list) and len(part) == size for part in (grounds, ids))
        require(good and all(type(x) is bool for x in grounds), "an event has no places")
        require(all(x is None or (type(x) is int and 0 <= x < 1 << 62) for x in ids), "an event has no places")
        require(isinstance(numbers, list) and len(numbers) in (3, 9), "an event has no points")
        require(all(type(x) is float and math.isfinite(x) for x in numbers), "an event has no points")
        require(SHORTEST_DIRECTION < math.hypot(*numbers[-3:]) < math.inf, "an event looks nowhere")


def _mounted_shapes(bodies: Rows, collisions: Any, mounted: Any) -> None:
    """Shapes are on bodies that there are, and known to be on them."""
    shapes = collisions.shapes
    found: dict[int, set[int]] = {}
    for id in shapes.ids:
        link = shapes.link(id)
        require(link == -1 or (link < len(bodies) and bodies[link]["next"] == IN_USE), f"shape {id} is on no body")
        found.setdefault(link, set()).add(id)
    require(isinstance(mounted, dict) and all(type(ids) is list for ids in mounted.values()), "shapes are on no bodies")
    there = {link: set(ids) for link, ids in mounted.items() if ids}
    require(there == found and all(len(set(ids)) == len(ids) for ids in mounted.values()), "shapes are on other bodies")
