"""Model: the constants of a tree. Data: what algorithms compute from it."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph.geometry.shapes import Shape
from kinemorph.multibody.layout import DOF, DOF_DATA, LINK, LINK_DATA, TREE, JointKind
from kinemorph.spatial.pose import Pose, Vector, vector

_revisions = itertools.count(1)
_UPRIGHT = np.eye(3).ravel()


@dataclass(frozen=True)
class Mimic:
    """A joint that follows another one: q = multiplier * q(source) + offset. See `kinemorph.follow`."""

    joint: str
    source: str
    multiplier: float
    offset: float


Skin = tuple[tuple[tuple[Shape, ...], ...], dict[int, Pose]]  # shapes, and by link the pose of the frame they are in


class Model:
    """A tree of links, as rows of constants (`multibody.layout`). Nothing changes it: edits make a new one.

    `links[i]` and `names[i]` describe link i, `joint_names[i]` the joint that carries it, `dofs[k]` entry k of v.
    `shapes[i]` are the shapes of link i, `base_shapes` those that stand in the world. `frames` are named places: a link
    (-1 for the base) and a pose on it. `revision` is different for every model; `Data` remembers it.
    """

    __slots__ = (
        "_joint_index", "_link_index", "_skin", "_tree", "base_shapes", "dofs", "frames", "gravity", "handle",
        "joint_names", "links", "mimics", "n", "name", "names", "nq", "nv", "rest", "revision", "spare_lanes",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        links: np.ndarray[Any, Any],
        dofs: np.ndarray[Any, Any],
        names: Sequence[str],
        joint_names: Sequence[str],
        rest: Vector,
        gravity: Iterable[float] = (0.0, 0.0, -9.81),
        shapes: Sequence[Sequence[Shape]] | None = None,
        frames: Mapping[str, tuple[int, Pose]] | None = None,
        mimics: Sequence[Mimic] = (),
        base_shapes: Sequence[Shape] = (),
    ) -> None:
        self.name = name
        self.links = np.array(links, dtype=LINK)
        self.dofs = np.array(dofs, dtype=DOF)
        self.names = tuple(names)
        self.joint_names = tuple(joint_names)
        self.rest = np.array(rest, dtype=np.float64)
        self.gravity = vector(gravity, 3, f"model {name!r}: gravity")
        self._skin: Skin = tuple(map(tuple, shapes)) if shapes is not None else ((),) * len(self.names), {}
        self.frames = dict(frames or {})
        self.mimics = tuple(mimics)
        self.base_shapes = tuple(base_shapes)
        self._complete()

    def _complete(self) -> None:
        """All that follows from the rest."""
        self.n = len(self.links)
        self.nv = len(self.dofs)
        self.nq = len(self.rest)
        self.revision = next(_revisions)
        self.spare_lanes: list[Any] = []  # workspaces of `batch` that no thread uses now
        self._link_index = {link: i for i, link in enumerate(self.names)}
        self._joint_index = {joint: i for i, joint in enumerate(self.joint_names)}
        self._tree = tree_of(self)
        self.handle = int(self._tree.ctypes.data)
        for array in (self.links, self.dofs, self.rest, self.gravity):
            array.flags.writeable = False

    def rearranged(
        self, links: np.ndarray[Any, Any], dofs: np.ndarray[Any, Any], names: tuple[str, ...],
        joint_names: tuple[str, ...], rest: Vector, order: list[int], away: dict[int, Pose],
        frames: dict[str, tuple[int, Pose]], mimics: tuple[Mimic, ...],
    ) -> Model:  # fmt: skip
        """The same bodies in another structure, from what is known to be right. It keeps the arrays that it is given.

        `dofs` and `rest` may be longer than they must. `order` has of each new link the old one, and `away` where the
        old frames of some links are in their new ones.
        """
        model = object.__new__(Model)
        model.name, model.gravity, model.base_shapes = self.name, self.gravity, self.base_shapes
        model.links, model.names, model.joint_names = links, names, joint_names
        model.frames, model.mimics = frames, mimics
        shapes, moved = self._skin
        if moved:
            away = {**moved, **{i: pose @ moved[i] if i in moved else pose for i, pose in away.items()}}
        model._skin = tuple([shapes[i] for i in order]), {k: away[i] for k, i in enumerate(order) if i in away}
        last = links[-1]
        model.dofs, model.rest = dofs[: last["iv"] + last["nv"]], rest[: last["iq"] + last["nq"]]
        model._complete()
        return model

    @property
    def shapes(self) -> tuple[tuple[Shape, ...], ...]:
        """The shapes of each link, in its frame. After a change of structure they are moved when somebody looks."""
        shapes, away = self._skin
        if away:
            shapes = tuple(
                [tuple([s.moved(away[i]) for s in own]) if i in away else own for i, own in enumerate(shapes)]
            )
            self._skin = shapes, {}
        return shapes

    def link(self, name: str) -> int:
        """Index of a link."""
        return _index(self._link_index, name, self.name, "link")

    def joint(self, name: str) -> int:
        """Index of the link that a joint carries."""
        return _index(self._joint_index, name, self.name, "joint")

    def q_slice(self, joint: str | int) -> slice:
        """Where a joint's entries are in q."""
        l = self.links[self._joint_at(joint)]
        return slice(int(l["iq"]), int(l["iq"] + l["nq"]))

    def v_slice(self, joint: str | int) -> slice:
        """Where a joint's entries are in v, a and tau."""
        l = self.links[self._joint_at(joint)]
        return slice(int(l["iv"]), int(l["iv"] + l["nv"]))

    def _joint_at(self, joint: str | int) -> int:
        if isinstance(joint, str):
            return self.joint(joint)
        index = operator.index(joint)
        if not 0 <= index < self.n:
            raise IndexError(f"model {self.name!r} has joints 0 to {self.n - 1}, not {index}")
        return index

    @property
    def mass(self) -> float:
        return float(self.links["mass"].sum())

    def with_gravity(self, gravity: Iterable[float]) -> Model:
        """The same model under another gravity (m/s²)."""
        return self._like(gravity=gravity)

    def with_dofs(self, **fields: npt.ArrayLike) -> Model:
        """The same model with other numbers in fields of `dofs`, such as damping=0.0 or upper=(nv numbers)."""
        dofs = self.dofs.copy()
        for name, values in fields.items():
            if name in ("link", "parent") or name not in (DOF.names or ()):
                raise ValueError(f"model {self.name!r}: dofs have no field {name!r} to set")
            numbers = np.asarray(values, dtype=np.float64)
            if np.isnan(numbers).any() or numbers.shape not in ((), (self.nv,)):
                raise ValueError(f"model {self.name!r}: {name} must be one number or {self.nv}, and none NaN")
            dofs[name] = numbers
        return self._like(dofs=dofs)

    def _like(self, dofs: np.ndarray[Any, Any] | None = None, gravity: Iterable[float] | None = None) -> Model:
        return Model(
            self.name, self.links, self.dofs if dofs is None else dofs, self.names, self.joint_names, self.rest,
            self.gravity if gravity is None else gravity, self.shapes, self.frames, self.mimics, self.base_shapes,
        )  # fmt: skip

    def __repr__(self) -> str:
        kinds = np.bincount(self.links["kind"], minlength=len(JointKind))
        joints = ", ".join(f"{kinds[k]} {k.name.lower()}" for k in JointKind if kinds[k])
        return f"Model {self.name!r}: {self.n} links ({joints}), nq {self.nq}, nv {self.nv}, {self.mass:.4g} kg"


class Data:
    """What algorithms compute for one model: rows that are valid after the algorithm that writes them.

    `links[i]` and `dofs[k]` hold the fields of `LINK_DATA` and `DOF_DATA`; `M` is the mass matrix after `crba`.
    A `Data` serves one thread at a time.
    """

    _rows: np.ndarray[Any, Any] | None
    _dofs: np.ndarray[Any, Any] | None
    __slots__ = ("M", "_dofs", "_memory", "_model", "_rows", "handle", "nv", "revision")

    def __init__(self, model: Model) -> None:
        self._model = model  # kept alive: the kernels read its rows through an address
        self.revision = model.revision
        self.nv = model.nv
        # one piece of memory, for every change of structure makes new data: a TREE, then rows, dofs and M
        rows, dofs, M, size = self._layout()
        memory = self._memory = np.zeros(size, np.uint8)
        self.handle = at = int(memory.ctypes.data)
        header = memory[:rows].view(np.int64)
        header[:] = model._tree.view(np.int64)
        header[-3:] = at + rows, at + dofs, at + M
        base = memory[rows : rows + LINK_DATA.itemsize].view(LINK_DATA)[0]
        base["R"], base["a"] = _UPRIGHT, -model.gravity
        self.M = memory[M:].view(np.float64).reshape(self.nv, self.nv)
        self._rows = self._dofs = None

    def _layout(self) -> tuple[int, int, int, int]:
        """Where the parts of the memory start, and its size."""
        rows = TREE.itemsize
        dofs = rows + (self._model.n + 1) * LINK_DATA.itemsize
        M = dofs + self.nv * DOF_DATA.itemsize
        return rows, dofs, M, M + 8 * self.nv * self.nv

    def _every_row(self) -> np.ndarray[Any, Any]:
        if self._rows is None:
            rows, dofs, _, _ = self._layout()
            self._rows = self._memory[rows:dofs].view(LINK_DATA)
        return self._rows

    @property
    def base(self) -> Any:
        """The row of the base."""
        return self._every_row()[0]

    @property
    def links(self) -> np.ndarray[Any, Any]:
        return self._every_row()[1:]

    @property
    def dofs(self) -> np.ndarray[Any, Any]:
        if self._dofs is None:
            _, dofs, M, _ = self._layout()
            self._dofs = self._memory[dofs:M].view(DOF_DATA)
        return self._dofs

    def __repr__(self) -> str:
        return f"Data of {self._model!r}"


def tree_of(model: Model, *rows: np.ndarray[Any, Any], layout: np.dtype[np.void] = TREE) -> np.ndarray[Any, Any]:
    """What kernels get: the sizes of a tree and the addresses of its rows. Whoever holds it keeps the rows alive."""
    addresses = [array.ctypes.data for array in (model.links, model.dofs, *rows)]
    springs = np.count_nonzero(model.dofs["stiffness"]) > 0
    missing = 5 - len(addresses)
    lead = (0,) * (len(layout.names or ()) - len(TREE.names or ()))  # lanes have one more field in front
    return np.array([(*lead, model.n, model.nq, model.nv, springs, *addresses, *(0,) * missing)], layout)


def _index(table: Mapping[str, int], name: str, model: str, what: str) -> int:
    try:
        return table[name]
    except KeyError:
        known = ", ".join(list(table)[:12]) + (", ..." if len(table) > 12 else "")
        raise KeyError(f"model {model!r} has no {what} {name!r}; it has {known}") from None
