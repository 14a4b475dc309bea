"""Data: the results of the algorithms for one model, in rows that kernels write to."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from kinemorph.multibody.layout import DOF_DATA, LINK_DATA, TREE, TREE_KIND, copy_rows, gear_scratch_size
from kinemorph.multibody.loop_layout import make_system, system_bytes
from kinemorph.multibody.model.loops import LOOP
from kinemorph.multibody.model.model import Model, fill_tree
from kinemorph.multibody.state import Array
from kinemorph.multibody.system import ROW, SYSTEM
from kinemorph.spatial.arguments.checks import repr_of

_UPRIGHT = np.eye(3).ravel()


class Data:
    """Results of the algorithms for one model: rows that are valid after the algorithm that writes them.

    `links[i]` and `dofs[k]` hold the fields of `LINK_DATA` and `DOF_DATA`; `M` is the mass matrix after `crba`. For a
    model with loops, `rows` are the constraint rows, `wrenches` the forces of the loops, and `rank` is the number of
    independent constraints, after `forward_dynamics`. A `Data` serves one thread at a time; a copy of it has rows of
    its own.
    """

    def __init__(self, model: Model) -> None:
        if not isinstance(model, Model):
            raise TypeError(f"Data belongs to a kinemorph.Model, not to {repr_of(model)}")
        self.model = model  # kept alive: the kernels read its rows through an address
        self.revision = model.revision
        self.nv = model.nv
        self._M: Array | None = None
        self._given: Array | None = None
        self._rows: np.ndarray[Any, Any] | None = None
        self._lock = threading.Lock()
        # one memory block, because every change of structure makes new data
        self._memory = memory = np.zeros(sum(self._parts()), np.uint8)
        self.address = int(memory.ctypes.data)
        self.header: Any = memory[: TREE.itemsize].view(TREE)[0]  # the argument of kernels
        self._connect()
        base = self._every_row()[0]
        base["R"], base["a"] = _UPRIGHT, -model.gravity

    def _parts(self) -> tuple[int, ...]:
        """Bytes of header, rows of links, rows of dofs, system, loops, constraint rows, pushes and gears."""
        model = self.model
        parts = TREE.itemsize, (model.n + 1) * LINK_DATA.itemsize, model.nv * DOF_DATA.itemsize
        pushes = 48 * model.n if model.passive else 0
        count = len(model.gear_rows) if model.catalog.mimics else 0
        more = pushes, 8 * gear_scratch_size(count, model.nv)
        if not len(model.loop_rows):
            return (*parts, 0, 0, 0, *more)
        loops = len(model.loop_rows) * LOOP.itemsize
        return (*parts, SYSTEM.itemsize, loops, system_bytes(model.sizes[0], 1, model.nv), *more)

    def _part(self, which: int) -> np.ndarray[Any, Any]:
        sizes = self._parts()
        start = sum(sizes[:which])
        return self._memory[start : start + sizes[which]]

    def _connect(self) -> None:
        """Write all addresses into the header, of new memory or of a copy."""
        model, header = self.model, self.header
        fill_tree(header, model, TREE_KIND)
        for field in ("busy", "M", "system", "pushes", "given", "gear_room"):
            header[field] = 0
        if header["gear_count"]:
            header["gear_room"] = self._part(7).ctypes.data
        if model.passive:
            header["pushes"] = self._part(6).ctypes.data
        header["rows"], header["dof_rows"] = self._part(1).ctypes.data, self._part(2).ctypes.data
        if len(model.loop_rows):
            loops, rest = self._part(4), self._part(5)
            loops[:] = model.loop_rows.view(np.uint8)
            rest[:] = 0
            system = self._part(3).view(SYSTEM)
            make_system(
                system, rest.ctypes.data, self.address, model.nv, loops.view(LOOP), model.sizes, model.dependence
            )
            header["system"] = system.ctypes.data

    # -------------------------------------------------------------------------------------------------------- rows

    def _every_row(self) -> np.ndarray[Any, Any]:
        if self._rows is None:
            self._rows = self._part(1).view(LINK_DATA)
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
        return self._part(2).view(DOF_DATA)

    @property
    def M(self) -> Array:
        """The mass matrix of all trees (nv x nv), after `crba`; allocated at first access."""
        if self._M is None:
            self._M = np.zeros((self.nv, self.nv))
            self.header["M"] = self._M.ctypes.data
        return self._M

    @property
    def rows(self) -> np.ndarray[Any, Any]:
        """The constraint rows of all loops."""
        if not len(self.model.loop_rows):
            return np.zeros(0, ROW)
        return self._part(5)[: self.model.m * ROW.itemsize].view(ROW)

    @property
    def rank(self) -> int:
        """Number of independent constraint rows that the last algorithm found."""
        return int(self._part(3).view(SYSTEM)[0]["rank"]) if len(self.model.loop_rows) else 0

    @property
    def wrenches(self) -> Array:
        """Moment and force (6) on link b from link a at every loop, at the successor's origin, world axes."""
        total, every = np.zeros((len(self.model.loop_rows), 6)), self.rows
        for out, loop in zip(total, self.model.loop_rows, strict=True):
            rows = every[loop["first"] : loop["first"] + loop["m"]]
            out[:3], out[3:] = rows["force"] @ rows["n"], rows["force"] @ rows["f"]
        return total

    def pushed_by(self, external: Array) -> Array:
        """The forces on links for an integration in time: `external`, or rows to which passive forces will be added."""
        if not self.model.passive:
            return external
        self._given = external  # kept alive
        self.header["given"] = external.ctypes.data if len(external) else 0
        return self._part(6).view(np.float64).reshape(self.model.n, 6)

    # ------------------------------------------------------------------------------------------------------- copies

    def claimed(self) -> ExclusiveUse:
        """Exclusive use for a long call that lets other threads run: calls of other threads raise meanwhile."""
        return ExclusiveUse(
            self, "this Data is in use by another thread; give each thread its own: data = km.Data(model)"
        )  # fmt: skip

    def __copy__(self) -> Data:
        restore, arguments = self.__reduce__()
        copy: Data = restore(*arguments)
        return copy

    def __deepcopy__(self, memo: Any) -> Data:
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        if self.header["busy"]:
            raise RuntimeError("this Data is in use by another thread and cannot be copied now")
        return _restore_data, (self.model, copy_rows(self._memory), self._M)

    def __repr__(self) -> str:
        return f"Data of {self.model!r}"


class ExclusiveUse:
    """Context of exclusive use of an object with a header, such as a `Data`, by a thread; yields its address."""

    __slots__ = ("_owner", "_refusal", "_waits")

    def __init__(self, owner: Any, refusal: str, waits: bool = False) -> None:
        self._owner, self._refusal, self._waits = owner, refusal, waits

    def __enter__(self) -> int:
        owner = self._owner
        if not owner._lock.acquire(blocking=self._waits):
            raise RuntimeError(self._refusal)
        owner.header["busy"] = 1
        address: int = owner.address
        return address

    def __exit__(self, *_: object) -> None:
        self._owner.header["busy"] = 0
        self._owner._lock.release()


def _restore_data(model: Model, memory: np.ndarray[Any, Any], M: Array | None) -> Data:
    """Data with the saved numbers, and new addresses."""
    data = Data(model)
    header, rows, dofs, *_ = data._parts()
    data._memory[header : header + rows + dofs] = memory[header : header + rows + dofs]
    if len(model.loop_rows):
        theirs = memory[sum(data._parts()[:5]) :]
        ours, width = data._part(5), model.m * ROW.itemsize
        ours[:width] = theirs[:width]
        system = header + rows + dofs
        data._part(3).view(SYSTEM)[0]["rank"] = memory[system : system + SYSTEM.itemsize].view(SYSTEM)[0]["rank"]
    if M is not None:
        data.M[:] = M
    return data
