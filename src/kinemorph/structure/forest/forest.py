"""Forest: trees in memory blocks of their own, with ids that stay while the structure changes."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from kinemorph.multibody.algorithms.configuration import QUATERNION_KINDS, neutral
from kinemorph.multibody.checks import Array, as_arrays, raise_for_status
from kinemorph.multibody.layout import DOF
from kinemorph.multibody.model.declared import as_declared
from kinemorph.multibody.model.elements import ForceElement, element_rows
from kinemorph.multibody.model.joint import Joint
from kinemorph.multibody.model.model import Model
from kinemorph.multibody.state import State
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.arguments.checks import repr_of
from kinemorph.spatial.pose import Pose, rotation, vector
from kinemorph.structure.edit.apply_edit import perform_edit
from kinemorph.structure.edit.from_model import MODEL_IMPORT, import_model
from kinemorph.structure.edit.refusals import EntityNames, raise_refusal, warn_lossy_joint
from kinemorph.structure.edit.request import Place, Request
from kinemorph.structure.forest import copying
from kinemorph.structure.forest import layout as layout
from kinemorph.structure.forest.layout import BODIES, JOINTS, LOOPS, TREES
from kinemorph.structure.forest.loops import find_largest_loop_errors
from kinemorph.structure.forest.memory import ID_INDEX_MASK
from kinemorph.structure.forest.motion import accelerate_forest, update_trees_motion
from kinemorph.structure.forest.poses import MOTION, read_body_motion, read_body_poses
from kinemorph.structure.forest.sums import ForestSums
from kinemorph.structure.forest.tables import FIRST_ROWS, Ids, grown_table
from kinemorph.structure.forest.velocity_changes import add_body_velocity
from kinemorph.structure.support import first_unsupported_in_forest

_NO_DRIVES = np.zeros(0, DOF)
NO_IDS: Ids = np.empty(0, np.int64)
STATE_VECTORS = {"q": layout.Q, "v": layout.V, "tau": layout.TAU}  # of the vectors of a tree's state, by name
# fields of tables that are not saved
TRANSIENT_FIELDS = {"address", "state", "size", "mark", "follows", "place", "offset"}


class AddedModel(NamedTuple):
    """Ids of the parts of a model that was added to a forest, in the order of the model."""

    bodies: Ids
    joints: Ids
    loops: Ids  # the joints that close its loops
    trees: Ids


class Edit(NamedTuple):
    """The result of an edit of a live forest."""

    joint: int  # id of the joint that was made, or that carries the part now; -1 if there is none
    closes: bool  # whether it closes a loop
    impulse: Array  # moment and impulse (6) on b at the new joint, world axes
    energy_lost: float  # J
    momentum_error: float  # N s and N m s, of all coupled trees, if no joint ties them to the base
    pose_error: float  # m and rad: largest difference of a body's pose before and after
    twist_error: float  # m/s and rad/s: likewise for velocities, the jump left out
    loop_error: float  # m and rad: largest error of the loops that took part


@checked_on_failure
class Forest(ForestSums):
    """Trees of bodies, and loops between them, that are added, connected, cut, re-rooted and removed while they move.

    Bodies, joints (those that close loops as well) and trees have ids, integers that stay with them through every edit;
    the id of a removed thing is refused. An edit touches the trees that it names, and those that loops couple to them
    if there is an impact. Gravity belongs to the forest and is the same for all trees. One thread at a time may use it;
    calls of other threads raise meanwhile.
    """

    # --------------------------------------------------------------------------------------------------------- edits

    def add(
        self, model: Model, q: npt.ArrayLike | None = None, v: npt.ArrayLike | None = None,
        tau: npt.ArrayLike | None = None,
    ) -> AddedModel:  # fmt: skip
        """Add all trees, loops and force elements of a model, in a state; neutral and at rest if that is not given."""
        if not isinstance(model, Model):
            raise TypeError(f"forest: add takes a kinemorph.Model, not {repr_of(model)}")
        n, end = model.n, 2 * model.n + len(model.loop_rows)
        numbers = np.zeros((6, model.nq))
        given = {"q": neutral(model) if q is None else q}
        if v is not None:
            given["v"] = v
        if tau is not None:
            given["tau"] = tau
        for name, x in zip(given, as_arrays(model, **given), strict=True):
            numbers[STATE_VECTORS[name], : len(x)] = given[name] = x
        numbers[layout.REST] = model.rest
        ids = np.empty(end + n, np.int64)
        here = self._plant(model, numbers, -1, -1, ids)[0]
        if here is None:
            raise_for_status(model, 2, **given)
        if model.catalog.elements:
            with self.claimed(waits=True):
                self._tie_elements(model, here.tolist())
        count = model.parents.count(-1)
        return AddedModel(ids[:n], ids[n : 2 * n], ids[2 * n : end], ids[end : end + count])

    def _tie_elements(self, model: Model, names: list[int]) -> None:
        """Add the force elements of a model whose bodies are in the forest; end points are in their own frames."""
        bodies, held, ends = model.bodies, [], []
        for e, a, at_a, b, at_b in model.catalog.elements:
            links = [int(bodies[body]["link"]) if body >= 0 else -1 for body in (a, b)]
            if all(link >= 0 or body < 0 for link, body in zip(links, (a, b), strict=True)):
                held.append((e, -1, at_a, -1, at_b))
                ends.append([self._id(BODIES, names[link]) if link >= 0 else -1 for link in links])
        self._hold_elements(held, ends)

    def tie(self, element: ForceElement, a: int, b: int) -> None:
        """Add a force element between bodies a and b by id, -1 for the base; its end points are in their own frames."""
        for body in (a, b):
            if body >= 0:
                self.tree_of(body)  # raises if it is gone
        with self.claimed():
            self._hold_elements([(element, -1, element.at_a, -1, element.at_b)], [[a, b]])

    def _hold_elements(self, held: list[Any], ends: list[list[int]]) -> None:
        count = int(self.header["element_count"])
        self._elements = np.concatenate([self._elements[:count], element_rows(held)])
        self._ends = np.concatenate([self._ends[:count], np.array(ends, dtype=np.int64).reshape(-1, 2)])
        self.header["element_count"] = len(self._ends)
        self._connect()

    def _plant(
        self, model: Model, numbers: Array, first: int, second: int, ids: Ids = NO_IDS
    ) -> tuple[npt.NDArray[np.int32] | None, npt.NDArray[np.int32], Any]:
        """Copy a model. Returns the indices of its bodies and joints (None if numbers are not finite), marks, counts.

        If `ids` has room, all trees are copied and `ids` gets their ids.
        """
        plants = np.empty(1, MODEL_IMPORT)
        loops, n = model.loop_rows, model.n
        drives = loop_dof_rows_of(model) if len(loops) else _NO_DRIVES
        both, numbers = np.empty(3 * n + len(loops), np.int32), numbers.ravel()
        chosen, here = both[:n], both[n:]
        while status := import_model(
            self.address, model.address, first, second, plants, model.bodies, loops, drives, numbers, chosen, here, ids
        ):
            if status == layout.FULL:
                with self.claimed():
                    self._grow()
            elif status == layout.NOT_FINITE:
                return None, chosen, plants[0]
            else:
                raise RuntimeError("this forest is in use by another thread")
        return here, chosen, plants[0]

    def connect(
        self, a: int, b: int, joint: Joint, at: Place, how: str = "auto", on: Place | None = None
    ) -> Edit:  # fmt: skip
        """Join body b to body a by a joint that stands at `at` in the world, where both are now; -1 is the base.

        As `kinemorph.connect`, with ids; `on` is the joint's successor frame in the own frame of b.
        """
        with self.claimed():
            request = Request.connect(self._edits, joint, at, how, on)
            request.row["a"], request.row["b"] = operator.index(a), operator.index(b)
            return self._perform(request)

    def cut(self, joint: int, root: int = -1, allow_free: bool = True) -> Edit:
        """Cut a joint, of a tree or of a loop. As `kinemorph.cut`, with ids.

        With `allow_free=False`, a cut that would leave a part without support is refused.
        """
        if not allow_free:
            body = first_unsupported_in_forest(self, self._find(JOINTS, joint, "joint"))
            if body >= 0:
                raise ValueError(
                    f"forest: joint {joint} is the last that supports body {self._id(BODIES, body)}, "
                    "and allow_free is False"
                )
        with self.claimed():
            request = Request.cut(self._edits)
            request.row["joint"], request.row["root"] = operator.index(joint), operator.index(root)
            return self._perform(request)

    def reroot(
        self, body: int, joint: Joint | None = None, at: Place | None = None, on: Place | None = None
    ) -> Edit:  # fmt: skip
        """Make a body the root of its tree, carried by a new joint on the base, free if none is given."""
        with self.claimed():
            request = Request.reroot(self._edits, joint, at, on)
            request.row["b"] = operator.index(body)
            return self._perform(request)

    def remove(self, body: int) -> Edit:
        """Remove a body with the subtree that it carries, and the loops and force elements on it."""
        with self.claimed():
            request = Request.remove(self._edits)
            request.row["b"] = operator.index(body)
            return self._perform(request)

    def _perform(self, request: Request) -> Edit:
        status = self._apply(request)
        o = self._outcomes[0]
        if status:
            self._refuse(request, o)
        if o["lossy"] >= 0:
            warn_lossy_joint(_NAMES, o)
        return Edit(
            int(o["joint"]), bool(o["closes"]), o["impulse"].copy(), float(o["energy_lost"]),
            float(o["momentum_error"]), float(o["pose_error"]), float(o["twist_error"]), float(o["loop_error"]),
        )  # fmt: skip

    def _apply(self, request: Request) -> int:
        """Perform the edit, and grow memory as needed. Returns its status."""
        while (status := perform_edit(self.address, request.rows, self._outcomes)) == layout.FULL:
            self._grow()
        return int(status)

    def _refuse(self, request: Request, outcome: Any) -> NoReturn:
        row, status = request.row, int(outcome["status"])
        stale = {layout.STALE_A: ("a", "body"), layout.STALE_B: ("b", "body"), layout.STALE_JOINT: ("joint", "joint"),
                 layout.STALE_ROOT: ("root", "body")}  # fmt: skip
        if status in stale:
            field, what = stale[status]
            self._refuse_stale(int(row[field]), what)
        if status == layout.NOT_CARRIED:
            raise ValueError(f"forest: joint {int(row['joint'])} does not carry body {int(row['root'])}")
        a, b = (int(row[side]) & ID_INDEX_MASK if row[side] >= 0 else -1 for side in "ab")
        raise_refusal(_NAMES, outcome, request.joint, a, b, request.joint.name or "new")

    def state(self, tree: int) -> State:
        """A copy of the state of a tree: q, v, a (of `forward_dynamics`; steps of a world need not keep it) and tau."""
        t = self._find(TREES, tree, "tree")
        with self.claimed():
            q, v, a, tau = (self._vector(t, which).copy() for which in (layout.Q, layout.V, layout.A, layout.TAU))
        return State(q, v, a, tau)

    def set_state(
        self, tree: int, q: npt.ArrayLike | None = None, v: npt.ArrayLike | None = None,
        tau: npt.ArrayLike | None = None,
    ) -> None:  # fmt: skip
        """Set positions, velocities or joint forces of a tree; arguments that are None stay.

        Quaternions may have any length but zero.
        """
        t = self._find(TREES, tree, "tree")
        with self.claimed():
            given = {layout.Q: ("q", q), layout.V: ("v", v), layout.TAU: ("tau", tau)}
            rows = {which: self._vector(t, which) for which, (_, values) in given.items() if values is not None}
            new = {
                which: vector(np.asarray(given[which][1]), len(row), f"tree {tree}: {given[which][0]}")
                for which, row in rows.items()
            }
            if layout.Q in new:
                self._turn_rightly(t, new[layout.Q], f"tree {tree}: q")
            for which, row in rows.items():
                row[:] = new[which]

    def _turn_rightly(self, t: int, q: Array, what: str) -> None:
        """Normalize the quaternions in a tree's q."""
        for link in self._links(t):
            if link["kind"] in QUATERNION_KINDS:
                end = int(link["iq"] + link["nq"])
                q[end - 4 : end] = rotation(q[end - 4 : end], f"{what}[{end - 4}:{end}]")

    def knock(self, body: int, push: Iterable[float], turn: Iterable[float]) -> None:
        """Add to the velocity (m/s) and angular velocity (rad/s), world axes, of a floating body with its tree."""
        a, b, c = vector(push, 3, f"body {body}: knock: push").tolist()
        x, y, z = vector(turn, 3, f"body {body}: knock: turn").tolist()
        status = add_body_velocity(self.address, self._find(BODIES, body, "body"), (a, b, c), (x, y, z))
        if status == layout.NOT_CARRIED:
            raise ValueError(f"forest: body {body} does not float; only what a free joint carries can be knocked")
        self._check(status)

    def position(self, joint: int) -> Array:
        """Position of a joint of a tree (its part of q) as it was declared, whichever of its links it carries."""
        return self._motion_of(joint)[0]

    def velocity(self, joint: int) -> Array:
        """Velocity of a joint of a tree (its part of v) as it was declared."""
        return self._motion_of(joint)[1]

    def _motion_of(self, joint: int) -> tuple[Array, Array]:
        t, l = self._carried(joint)
        i, j = int(l["iq"]), int(l["iv"])
        q, v = self._vector(t, layout.Q), self._vector(t, layout.V)
        return as_declared(l, q[i : i + int(l["nq"])], v[j : j + int(l["nv"])])

    def pose(self, body: int) -> Pose:
        """Pose of a body's own frame in the world."""
        seen = self._seen(body)
        return Pose.known(seen["p"][0], seen["R"][0].reshape(3, 3))

    def fill_poses(self, bodies: Array, poses: Any) -> None:
        """Write the world poses of bodies' own frames into rows with R and p, the one after each body's index."""
        self._check(read_body_poses(self.address, bodies, poses))

    def twist(self, body: int) -> Array:
        """Angular velocity of a body, and velocity of the origin of its own frame (6), world axes."""
        seen = self._seen(body)
        return np.concatenate([seen["w"][0], seen["v"][0]])

    def _seen(self, body: int) -> Any:
        """Pose and velocity of a body now: one row of MOTION."""
        seen = np.empty(1, MOTION)
        self._check(read_body_motion(self.address, self._find(BODIES, body, "body"), seen))
        return seen

    # ------------------------------------------------------------------------------------------------------- dynamics

    def forward_dynamics(self) -> None:
        """Compute accelerations of all trees, from joint forces tau and force elements, with all loops closed.

        They are in `state`. Springs and dampers of joints and loops are left to the caller that integrates in time.
        """
        with self.claimed() as address:
            while (status := accelerate_forest(address, self._outcomes)) == layout.FULL:
                self._grow()
        if status == layout.NOT_FINITE:
            t = int(self._outcomes[0]["tree"])
            raise ArithmeticError(
                f"forest: tree {self._id(TREES, t)} has no finite acceleration; does all of it have mass?"
            )
        self._check(status)

    def kinematics(self) -> None:
        """Compute poses, velocities and accelerations of all links, in the rows of their trees."""
        self._check(update_trees_motion(self.address, 0, int(self._pools[TREES]["count"])))

    def loop_errors(self) -> tuple[float, float]:
        """Largest error of a loop (rad or m), and largest relative velocity of its sides (rad/s or m/s)."""
        worst = np.zeros(2)
        with self.claimed() as address:
            while (status := find_largest_loop_errors(address, worst)) == layout.FULL:
                self._grow()
        self._check(status)
        return float(worst[0]), float(worst[1])

    # --------------------------------------------------------------------------------------------------------- copies

    def __getstate__(self) -> tuple[Any, ...]:
        """Plain tables, without addresses and without fields that the next call computes."""
        header = self._header[0]
        if header["busy"]:
            raise RuntimeError("this forest is in use by another thread and cannot be copied now")
        elements = int(header["element_count"])
        counts = [int(pool["count"]) for pool in self._pools]
        tables = [copying.unpadded(table[:count]) for table, count in zip(self._tables, counts, strict=True)]
        ties = copying.unpadded(self._ties[: counts[LOOPS]])
        drives = copying.unpadded(self._drives[: 6 * counts[LOOPS]])
        for table in tables:
            _clear_transient_fields(table)
            free = table["next"] != layout.IN_USE
            for name in set(table.dtype.names or ()) - {"generation", "next"}:
                table[name][free] = 0
        ties[tables[LOOPS]["next"] != layout.IN_USE] = np.zeros(1, ties.dtype)
        drives.reshape(-1, 6)[tables[LOOPS]["next"] != layout.IN_USE] = np.zeros(1, drives.dtype)
        pools, extents = self._pools.copy(), np.zeros(int(self._pools[TREES]["used"]), copying.EXTENT)
        pools["capacity"] = 0
        copying.measure_trees(self.address, extents)
        links, dofs, numbers = copying.allocate_tree_rows(extents)
        copying.pack_trees(self.address, extents, links, dofs, numbers)
        return (
            [float(header[g]) for g in ("gx", "gy", "gz")], float(header["dependence"]), pools, tables, ties, drives,
            copying.unpadded(self._elements[:elements]), self._ends[:elements].copy(), extents,
            copying.unpadded(links), dofs, numbers,
        )  # fmt: skip

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        """Restore the saved numbers, with new addresses."""
        gravity, dependence, pools, tables, ties, drives, elements, ends, extents, links, dofs, numbers = state
        self.__init__(gravity, dependence)  # type: ignore[misc]
        self._elements, self._ends, self._header[0]["element_count"] = elements.copy(), ends.copy(), len(ends)
        for i, table in enumerate(tables):
            self._tables[i] = grown_table(table, FIRST_ROWS)
            _clear_transient_fields(self._tables[i])  # a mark from elsewhere may be that of the next collection here
        loops = len(self._tables[LOOPS])
        self._ties, self._drives = grown_table(ties, loops)[:loops], grown_table(drives, 6 * loops)[: 6 * loops]
        for field in ("count", "used", "free"):
            self._pools[field] = pools[field]
        self._connect()
        while copying.unpack_trees(self.address, extents, links, dofs, numbers):
            self._grow()

    def __copy__(self) -> Forest:
        copy = Forest.__new__(Forest)
        copy.__setstate__(self.__getstate__())
        return copy

    def __deepcopy__(self, memo: Any) -> Forest:
        return self.__copy__()

    def __repr__(self) -> str:
        trees, bodies, joints, loops = (int(pool["used"]) for pool in self._pools)
        return f"Forest: {trees} trees of {bodies} bodies and {joints - loops} joints, {loops} loops"


def _clear_transient_fields(table: np.ndarray[Any, Any]) -> None:
    for name in TRANSIENT_FIELDS.intersection(table.dtype.names or ()):
        table[name] = 0


def loop_dof_rows_of(model: Model) -> np.ndarray[Any, Any]:
    """Six DOF rows for each loop of a model: those of the loop's joint."""
    drives = np.zeros(6 * len(model.loop_rows), DOF)
    for k, joint in enumerate(model.loop_rows["joint"].tolist()):
        _, dofs, _ = model.catalog.loops[joint].rows
        drives[6 * k : 6 * k + len(dofs)] = dofs
    return drives


_NAMES = EntityNames("forest", lambda i: f"body {i}" if i >= 0 else "the base", lambda i: str(i))
