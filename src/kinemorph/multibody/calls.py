"""Between Python and kernels: what a kernel's status means, and arrays that kernels accept.

Every public function does the same three things: it refuses data of another model, calls its entry kernel once, and
turns a status into a sentence. Kernels check sizes and finiteness themselves, where it costs next to nothing; arrays of
another type raise TypeError there, are converted here, and the call is made again.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from kinemorph.multibody.model import Data, Model

OK = 0
BAD_SIZE = 1  # an argument has a wrong shape
NOT_FINITE = 2  # the result is not finite

NO_FORCES = np.zeros((0, 6))

Array = np.ndarray[Any, np.dtype[np.float64]]


def refuse_stale(model: Model, data: Data) -> NoReturn:
    raise ValueError(
        f"this Data belongs to another model (revision {data.revision}) than {model.name!r} "
        f"(revision {model.revision}); make a new one: data = km.Data(model)"
    )


def as_arrays(*values: Any) -> Any:
    """What users pass, as arrays that entry kernels take: float64, contiguous, writable."""
    arrays = []
    for value in values:
        array = np.require(value, np.float64, ["C", "A", "W"])
        if np.iscomplexobj(value):
            raise TypeError("expected real numbers, got complex ones")
        arrays.append(array)
    return arrays


def complain(model: Model, status: int, **arguments: Any) -> NoReturn:
    """Raise the sentence for a status: which argument is wrong, and how."""
    sizes = {"q": model.nq, "q0": model.nq, "q1": model.nq, "v": model.nv, "a": model.nv, "tau": model.nv}
    for name, value in arguments.items():
        array = np.asarray(value)
        if name == "external":
            if array.size and array.shape != (model.n, 6):
                raise ValueError(
                    f"model {model.name!r}: external has shape {array.shape}, expected {(model.n, 6)}: "
                    "a moment and a force for each link, world axes"
                )
        elif name in sizes and array.shape != (sizes[name],):
            raise ValueError(f"model {model.name!r}: {name} has shape {array.shape}, expected ({sizes[name]},)")
        if not np.isfinite(array).all():
            where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
            index = where[0] if len(where) == 1 else where
            raise ValueError(
                f"model {model.name!r}: {name}[{index}] is {array[where]}{_belongs(model, name, where[0])}"
            )
    if status == NOT_FINITE:
        raise ArithmeticError(
            f"model {model.name!r}: the result is not finite although all arguments are; "
            "a joint may move too little mass, or a number may be too large"
        )
    raise ValueError(f"model {model.name!r}: an array has a wrong shape")


def _belongs(model: Model, name: str, index: int) -> str:
    if name == "external":
        return f" (link {model.names[index]!r})"
    if name not in ("q", "q0", "q1", "v", "a", "tau"):
        return ""
    start = model.links["iq" if name.startswith("q") else "iv"]
    return f" (joint {model.joint_names[int(np.searchsorted(start, index, side='right')) - 1]!r})"
