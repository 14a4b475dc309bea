"""Loops: joints that close cycles in a tree. A `Mechanism` is a model with its loops, `ClosedData` what is computed.

N&Y describe a loop by a virtual link on one side and its real link on the other. Here the virtual link is a frame on
link `a`, the real link's frame one on link `b`, and what the joint between them forbids is written down directly: rows
of unit wrenches that act on b at the joint, and with the opposite sign on a at the same point.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinemorph._jit import entry, kernel, rows_at
from kinemorph.multibody.calls import Array
from kinemorph.multibody.jacobian import last_dof
from kinemorph.multibody.joint import Joint
from kinemorph.multibody.layout import DOF, TREE, JointKind
from kinemorph.multibody.model import Data, Model
from kinemorph.spatial.pose import Pose

LOOP = np.dtype(
    [
        ("a", "i4"),  # link that carries the joint's predecessor frame, -1 for the base
        ("b", "i4"),  # link that carries its successor frame
        ("kind", "i4"),  # JointKind
        ("iq", "i4"),  # first entry among the positions of all loop joints
        ("iv", "i4"),  # first entry among their velocities
        ("nq", "i4"),
        ("nv", "i4"),
        ("first", "i4"),  # first constraint row
        ("m", "i4"),  # constraint rows, 6 - nv
        ("path", "i4"),  # first entry in the list of degrees of freedom on the ways from a and b to the base
        ("length", "i4"),  # entries there
        ("Ra", "f8", 9),  # pose of the predecessor frame on link a
        ("pa", "f8", 3),  # m
        ("Rb", "f8", 9),  # pose of the successor frame on link b
        ("pb", "f8", 3),  # m
        ("axis", "f8", 3),  # unit axes, as in a LINK row
        ("axis2", "f8", 3),
        ("pitch", "f8"),  # m/rad, of a screw
        ("slant", "f8"),  # |axis x axis2| of a universal joint, and
        ("cosine", "f8"),  # axis · axis2: the angle that it keeps
        ("T", "f8", 36),  # rows: what the joint forbids, angular and linear, predecessor's axes, at the successor
        ("x", "f8", 3),  # m, the successor's origin in the world; written by `orient`
    ],
    align=True,
)

ROW = np.dtype(
    [
        ("n", "f8", 3),  # unit wrench on link b at x, world axes: moment and
        ("f", "f8", 3),  # force; orient
        ("c", "f8"),  # what the row must cancel: an acceleration, a velocity or an error
        ("force", "f8"),  # multiplier λ: how many of the unit wrench act
        ("scale", "f8"),  # size of the response to the unit wrench before anything cancels; squared, like G
    ],
    align=True,
)

CHAIN = np.dtype(
    [
        ("tree", "i8"),  # address of the TREE
        ("count", "i8"),  # loops
        ("m", "i8"),  # constraint rows of all loops
        ("loops", "i8"),  # address of the LOOP rows
        ("rows", "i8"),  # address of the ROWs
        ("path", "i8"),  # address of the lists of degrees of freedom, and
        ("total", "i8"),  # their entries
        ("J", "i8"),  # m x nv: J_C
        ("Z", "i8"),  # m x nv: G = Z Zᵀ
        ("G", "i8"),  # m x m: J_C M⁻¹ J_Cᵀ
        ("F", "i8"),  # m x m: its factor
        ("order", "i8"),  # m: rows as they were eliminated, the dependent ones last
        ("rank", "i8"),  # independent rows
        ("tolerance", "f8"),  # squared sine below which a row depends on others
    ]
)

I8 = np.dtype("i8")
F8 = np.dtype("f8")

NO_ROWS, NO_PATH = np.zeros(0, LOOP), np.zeros(0, np.int64)

DEPENDENT = 1e-5  # sine of the angle to other rows below which a row counts as dependent on them


@kernel
def number_loops(tree: Any, loops: Any, path: Any, sizes: Any) -> None:
    """Where the entries of each loop start, and its degrees of freedom: those on the ways of both links to the base.

    sizes: rows, positions and velocities of all loops, entries of the path.
    """
    dofs = rows_at(tree["dofs"], tree["nv"], DOF)
    m = iq = iv = count = 0
    for i in range(loops.shape[0]):
        loop = loops[i]
        loop["first"], loop["iq"], loop["iv"], loop["path"] = m, iq, iv, count
        m += loop["m"]
        iq += loop["nq"]
        iv += loop["nv"]
        ka, kb = last_dof(tree, loop["a"]), last_dof(tree, loop["b"])
        start = count
        while ka >= 0 or kb >= 0:
            k = max(ka, kb)
            path[count] = k
            count += 1
            if ka == k:
                ka = dofs[k]["parent"]
            if kb == k:
                kb = dofs[k]["parent"]
        loop["length"] = count - start
        for j in range((count - start) // 2):  # in ascending order
            k = path[start + j]
            path[start + j] = path[count - 1 - j]
            path[count - 1 - j] = k
    sizes[0], sizes[1], sizes[2], sizes[3] = m, iq, iv, count


@entry
def _number(
    handle: int, loops: np.ndarray[tuple[int], np.dtype[np.void]], path: np.ndarray[tuple[int], np.dtype[np.int64]],
    sizes: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> None:  # fmt: skip
    number_loops(rows_at(handle, 1, TREE)[0], loops, path, sizes)


@dataclass(frozen=True, eq=False)
class Loop:
    """A joint between two links that are already in the tree, by name or index; -1 or None is the base.

    The joint's predecessor frame stands at `at_a` on link `a`, its successor frame at `at_b` on link `b`; the joint
    lets the second move against the first, as in a tree the link moves against the joint frame.
    """

    a: str | int | None
    b: str | int | None
    joint: Joint
    at_a: Pose
    at_b: Pose
    name: str

    def __init__(
        self,
        a: str | int | None,
        b: str | int | None,
        joint: Joint,
        at_a: Pose | Iterable[float] = (0.0, 0.0, 0.0),
        at_b: Pose | Iterable[float] = (0.0, 0.0, 0.0),
        name: str = "",
    ) -> None:
        poses = [at if isinstance(at, Pose) else Pose(at) for at in (at_a, at_b)]
        for field, value in zip(("a", "b", "joint", "at_a", "at_b", "name"), (a, b, joint, *poses, name), strict=True):
            object.__setattr__(self, field, value)


class Mechanism:
    """A model and the loops that close it. Nothing changes it.

    `m` is the number of constraint rows, `loop_nv` the number of velocities of all loop joints together. Its `loops`
    have names, and name their links: a name keeps its meaning when the structure of the tree changes.
    """

    def __init__(self, model: Model, loops: Sequence[Loop], tolerance: float = DEPENDENT) -> None:
        if not isinstance(model, Model):
            raise TypeError(
                f"a Mechanism is made of a Model and loops, not of {model!r}; "
                "to add loops to a mechanism, use Mechanism(mechanism.model, [*mechanism.loops, ...])"
            )
        if not 0.0 < tolerance < 1.0:
            raise ValueError(f"mechanism {model.name!r}: tolerance {tolerance} is not between 0 and 1")
        names = tuple(loop.name or loop.joint.name or f"loop{i}" for i, loop in enumerate(loops))
        for i, name in enumerate(names):
            if name in names[:i] or name in model.joint_names:
                raise ValueError(f"mechanism {model.name!r}: there is already a joint {name!r}")
        rows = np.zeros(len(loops), LOOP)
        for i, (loop, name) in enumerate(zip(loops, names, strict=True)):
            try:
                _fill(rows[i : i + 1], loop, model)
            except (ValueError, IndexError, KeyError) as error:
                raise ValueError(f"loop {name!r}: {error.args[0]}") from None
        named = tuple(_named(model, loop, name) for loop, name in zip(loops, names, strict=True))
        self._set(model, named, names, rows, float(tolerance))

    @staticmethod
    def known(
        model: Model, loops: tuple[Loop, ...], names: tuple[str, ...], rows: Any, tolerance: float
    ) -> Mechanism:  # fmt: skip
        """From rows that are known to be right but for where their entries start and their paths."""
        mechanism = object.__new__(Mechanism)
        mechanism._set(model, loops, names, rows, tolerance)
        return mechanism

    def _set(
        self, model: Model, loops: tuple[Loop, ...], names: tuple[str, ...], rows: Any, tolerance: float
    ) -> None:  # fmt: skip
        self.model, self.loops, self.names, self.rows, self.tolerance = model, loops, names, rows, tolerance
        if not names:
            self.m = self.loop_nq = self.loop_nv = 0
            self.path = NO_PATH
            return
        path = np.empty(len(rows) * model.nv, np.int64)
        sizes = np.zeros(4, np.int64)
        _number(model.handle, rows, path, sizes)
        self.m, self.loop_nq, self.loop_nv, length = sizes.tolist()
        self.path = path[:length]
        self.rows.flags.writeable = False
        self.path.flags.writeable = False

    @property
    def plain(self) -> Model | Mechanism:
        """What to go on with: the mechanism, or its model if there are no loops."""
        return self if self.loops else self.model

    def loop(self, name: str) -> int:
        """Index of a loop."""
        if name not in self.names:
            raise KeyError(f"mechanism {self.model.name!r} has no loop {name!r}; it has {', '.join(self.names)}")
        return self.names.index(name)

    def __repr__(self) -> str:
        kinds = [loop.joint.kind.name.lower() for loop in self.loops]
        loops = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
        return f"Mechanism: {self.model!r}, {len(self.loops)} loops ({loops})"


class ClosedData:
    """What algorithms compute for one mechanism: `tree` is the `Data` of its model, `rows` its constraint rows.

    J (m x nv) is J_C after any dynamics, `rank` the number of independent rows among them. It serves one thread at a
    time.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        model, m = mechanism.model, mechanism.m
        self.mechanism = mechanism
        self.tree = Data(model)
        self.loops = mechanism.rows.copy()
        self.rows = np.zeros(m, ROW)
        self.path = mechanism.path.copy()
        self.J, self.Z = np.zeros((m, model.nv)), np.zeros((m, model.nv))
        self.G, self.F = np.zeros((m, m)), np.zeros((m, m))
        self.order = np.zeros(m, np.int64)
        self._chain = np.zeros(1, CHAIN)
        chain = self._chain[0]
        chain["tree"], chain["count"], chain["m"] = self.tree.handle, len(self.loops), m
        chain["total"], chain["tolerance"] = len(self.path), mechanism.tolerance**2
        for name in ("loops", "rows", "path", "J", "Z", "G", "F", "order"):
            chain[name] = getattr(self, name).ctypes.data
        self.handle = int(self._chain.ctypes.data)

    @property
    def rank(self) -> int:
        """Independent constraint rows that the last algorithm found."""
        return int(self._chain[0]["rank"])

    @property
    def wrenches(self) -> Array:
        """Moment and force (6) on link b from link a at every loop, at the successor's origin, world axes."""
        total = np.zeros((len(self.loops), 6))
        for out, loop in zip(total, self.loops, strict=True):
            rows = self.rows[loop["first"] : loop["first"] + loop["m"]]
            out[:3], out[3:] = rows["force"] @ rows["n"], rows["force"] @ rows["f"]
        return total

    def external(self, wrenches: Array | None = None) -> Array:
        """Wrenches at the loops (those of the constraints if not given) as external forces on all links of the tree.

        They take the place of the loops: `aba` with them gives the same accelerations.
        """
        forces = np.zeros((len(self.tree.links), 6))
        given = self.wrenches if wrenches is None else wrenches
        for wrench, loop in zip(given, self.loops, strict=True):
            moment, force = wrench[:3], wrench[3:]
            for link, sign in ((int(loop["b"]), 1.0), (int(loop["a"]), -1.0)):
                if link >= 0:
                    lever = loop["x"] - self.tree.links[link]["p"]
                    forces[link, :3] += sign * (moment + np.cross(lever, force))
                    forces[link, 3:] += sign * force
        return forces

    def __repr__(self) -> str:
        return f"ClosedData of {self.mechanism!r}"


def as_mechanism(model: Model | Mechanism) -> Mechanism:
    """A model without loops counts as a mechanism too."""
    return model if isinstance(model, Mechanism) else Mechanism.known(model, (), (), NO_ROWS, DEPENDENT)


def _fill(rows: Any, loop: Loop, model: Model) -> None:
    joint = loop.joint
    joint.check()
    if joint.passive:
        raise ValueError(f"a joint that closes a loop has no {joint.passive}; put it on a joint of the tree")
    rows.view(np.uint8)[:] = loop_row(joint).view(np.uint8)
    row = rows[0]
    (row["a"], at_a), (row["b"], at_b) = _place(model, loop.a), _place(model, loop.b)
    if row["a"] == row["b"]:
        raise ValueError(f"both sides are on {'the base' if row['a'] < 0 else 'link ' + repr(model.names[row['a']])}")
    for at, R, p in ((at_a @ loop.at_a, "Ra", "pa"), (at_b @ loop.at_b, "Rb", "pb")):
        row[R], row[p] = at.rotation.ravel(), at.position


def loop_row(joint: Joint) -> Any:
    """A row of a loop with what it says of the joint alone. The joint keeps it, as it keeps its other rows."""
    row = vars(joint).get("_loop_row")
    if row is None:
        a, b = joint.axes()
        T = joint.forbidden
        row = np.zeros(1, LOOP)
        l = row[0]
        l["kind"], l["nq"], l["nv"], l["m"] = joint.kind, joint.nq, joint.nv, len(T)
        l["axis"], l["axis2"], l["pitch"] = a, b, joint.pitch
        if joint.kind is JointKind.UNIVERSAL:
            l["slant"], l["cosine"] = np.linalg.norm(np.cross(a, b)), a @ b
        l["T"][: T.size] = T.ravel()
        vars(joint)["_loop_row"] = row
    return row


def _place(model: Model, place: str | int | None) -> tuple[int, Pose]:
    """The link of a place, and where on it the place is: a name means a place on a body, an index a link's frame."""
    if place is None:
        return -1, Pose()
    if isinstance(place, str):
        return model.frames[place] if place in model.frames else (model.link(place), Pose())
    if not -1 <= place < model.n:
        raise IndexError(f"model {model.name!r} has links 0 to {model.n - 1} (and -1, the base), not {place}")
    return int(place), Pose()


def _named(model: Model, loop: Loop, name: str) -> Loop:
    """The same loop, its links by name; the base is None."""
    if loop.name == name and not isinstance(loop.a, int) and not isinstance(loop.b, int):
        return loop
    sides: list[str | None] = []
    poses = []
    for place, at in ((loop.a, loop.at_a), (loop.b, loop.at_b)):
        if isinstance(place, int):
            link = model.names[place] if place >= 0 else None
            if link in model.frames:
                at = model.frames[link][1].inverse() @ at
            sides.append(link)
        else:
            sides.append(place)
        poses.append(at)
    return Loop(sides[0], sides[1], loop.joint, poses[0], poses[1], name)
