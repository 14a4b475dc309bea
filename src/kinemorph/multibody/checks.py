"""Argument checks between Python and kernels: status codes, error texts, and arrays that kernels accept.

Every public function refuses data of another model, calls its entry kernel once, and raises the error text for a
status. Kernels check sizes and finiteness themselves, where it costs next to nothing; arrays of another type raise
TypeError there, are converted here, and the call is repeated.
"""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from kinemorph.jit.api import kernel
from kinemorph.multibody.data import Data
from kinemorph.multibody.layout import TREE_KIND, JointKind
from kinemorph.multibody.model.model import Model
from kinemorph.multibody.state import State
from kinemorph.spatial.arguments.checks import repr_of

OK = 0
BAD_SIZE = 1  # an argument has a wrong shape
NOT_FINITE = 2  # an argument or the result is not finite
UNUSABLE = 3  # the rows are of another kind, or another thread uses them

NO_FORCES = np.zeros((0, 6))
LARGEST_FLOAT = 1.7976931348623157e308

Array = np.ndarray[Any, np.dtype[np.float64]]
# arguments of entry kernels: the number of dimensions is part of the type
Vector = np.ndarray[tuple[int], np.dtype[np.float64]]
Matrix = np.ndarray[tuple[int, int], np.dtype[np.float64]]


@kernel
def finite(x: Any) -> bool:
    """Whether no entry is NaN or infinite."""
    good = True
    for k in range(x.shape[0]):
        good &= abs(x[k]) <= LARGEST_FLOAT
    return good


@kernel
def fault_of_positions(tree: Any, q: Any) -> int:
    """The status of an entry that cannot take a TREE and positions q; OK if it can."""
    if tree["kind"] != TREE_KIND or tree["busy"] != 0:
        return UNUSABLE
    if q.shape[0] != tree["nq"]:
        return BAD_SIZE
    return OK if finite(q) else NOT_FINITE


@kernel
def fault_of_rates(tree: Any, fault: int, v: Any) -> int:
    """The same with one more argument, which has an entry for each degree of freedom, after those with `fault`."""
    if fault == OK and v.shape[0] != tree["nv"]:
        return BAD_SIZE
    return fault if fault != OK or finite(v) else NOT_FINITE


@kernel
def fault_of_state(tree: Any, q: Any, v: Any) -> int:
    """The same for q and v."""
    return fault_of_rates(tree, fault_of_positions(tree, q), v)


@kernel
def fault_of_dynamics(tree: Any, q: Any, v: Any, given: Any, external: Any, result: Any) -> int:
    """The same for q, v, joint accelerations or forces, wrenches on links or none, and an array for the result."""
    fault = fault_of_rates(tree, fault_of_state(tree, q, v), given)
    if fault == UNUSABLE:  # it may not be a TREE
        return fault
    if result.shape[0] != tree["nv"]:
        return BAD_SIZE
    if external.shape[0] > 0 and (external.shape[0] != tree["n"] or external.shape[1] != 6):
        return BAD_SIZE
    return fault if fault != OK or finite(external.reshape(external.size)) else NOT_FINITE


def raise_wrong_data(model: Model, data: Data) -> NoReturn:
    """Raise the error for a model and a data that do not belong together."""
    check_model(model)
    if not isinstance(data, Data):
        raise TypeError(f"the second argument must be a kinemorph.Data, not {repr_of(data)}: data = km.Data(model)")
    raise ValueError(
        f"this Data belongs to another model (revision {data.revision}) than {model.name!r} "
        f"(revision {model.revision}); make a new one: data = km.Data(model)"
    )


def check_data(model: Model, data: Data) -> None:
    """Raise unless `model` is a Model and `data` is its Data."""
    if not (isinstance(model, Model) and isinstance(data, Data) and data.revision == model.revision):
        raise_wrong_data(model, data)


def check_model(model: Model) -> None:
    """Raise unless `model` is a Model."""
    if not isinstance(model, Model):
        raise TypeError(f"the first argument must be a kinemorph.Model, not {repr_of(model)}")


def check_state(model: Model, state: State) -> None:
    """Raise unless `model` is a Model and `state` is a State."""
    check_model(model)
    if not isinstance(state, State):
        raise TypeError(f"model {model.name!r}: the state must be a kinemorph.State, not {repr_of(state)}")


def checked_copies(model: Model, **values: Any) -> Any:
    """Copies of arguments, by name, as arrays of the right shape, checked for finiteness."""
    arrays = [array.copy() for array in as_arrays(model, **values)]
    if not all(np.isfinite(array).all() for array in arrays):
        raise_for_status(model, NOT_FINITE, **values)
    return arrays


def as_arrays(model: Model, **values: Any) -> Any:
    """Arguments, by name, as arrays that entries take: float64, contiguous, writable, of the right shape."""
    arrays = []
    for name, value in values.items():
        try:
            array = np.asarray(value)
        except ValueError:  # lists of several lengths
            raise TypeError(f"model {model.name!r}: {name} must be real numbers, got {repr_of(value)}") from None
        _check_shape(model, name, array)
        fits = array.dtype == np.float64 and array.flags.carray and not isinstance(value, np.ma.MaskedArray)
        arrays.append(array if fits else as_real_array(model, name, value))
    return arrays


def as_real_array(model: Model, name: str, value: Any) -> Array:
    """An argument as an array that entries take, of any shape."""
    array = np.asarray(value)
    try:
        if array.dtype.kind not in "biufO":  # complex numbers would lose a part, and texts are not numbers
            raise TypeError
        if np.ma.is_masked(value):  # masked entries are not valid numbers
            raise TypeError
        return np.require(array, np.float64, ["C", "A", "W"])
    except (TypeError, ValueError):
        raise TypeError(f"model {model.name!r}: {name} must be real numbers, got {repr_of(value)}") from None


def raise_for_status(model: Model, status: int, **arguments: Any) -> NoReturn:
    """Raise the error for a status: which argument is wrong, and how."""
    for name, value in arguments.items():
        array = as_real_array(model, name, value)
        _check_shape(model, name, array)
        if not np.isfinite(array).all():
            if not array.ndim:
                raise ValueError(f"model {model.name!r}: {name} is {array}")
            where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
            index = where[0] if len(where) == 1 else where
            place = _joint_of_entry(model, name, where[0]) if where else ""
            raise ValueError(f"model {model.name!r}: {name}[{index}] is {array[where]}{place}")
    if status == UNUSABLE:
        raise RuntimeError(
            f"model {model.name!r}: its Data is in use by another thread; give each thread its own: km.Data(model)"
        )
    if status == NOT_FINITE:
        for name in _POSITIONS:
            check_quaternions(model, arguments.get(name), name)
        from kinemorph.multibody.model.massless import (
            massless_joints,  # it computes what it needs, with the checks above
        )

        names = massless_joints(model, arguments.get("q"))
        why = "a joint may move too little mass, or a number may be too large"
        if names:
            why = f"joint {names[0]!r} moves no mass; give its link an inertia, or the joint an armature"
        raise ArithmeticError(f"model {model.name!r}: the result is not finite although all arguments are; {why}")
    raise ValueError(f"model {model.name!r}: an array has a wrong shape")


def check_quaternions(model: Model, q: Any, name: str = "q") -> None:
    """Raise if a quaternion in a configuration has length zero or is not finite."""
    if q is None:
        return
    numbers = np.asarray(q, dtype=np.float64)
    for i in np.flatnonzero((model.links["kind"] == JointKind.SPHERICAL) | (model.links["kind"] == JointKind.FREE)):
        end = int(model.links[i]["iq"] + model.links[i]["nq"])
        length = math.sqrt(sum(x * x for x in numbers[end - 4 : end].tolist()))
        if not 0.0 < length < np.inf:
            raise ValueError(
                f"model {model.name!r}: {name}[{end - 4}:{end}] (joint {model.joint_names[i]!r}) is a quaternion of "
                f"length {length:g}, which is no rotation; see km.neutral"
            )


def _check_shape(model: Model, name: str, array: np.ndarray[Any, Any]) -> None:
    if name == "external":
        if array.shape not in ((model.n, 6), (0, 6)):
            raise ValueError(
                f"model {model.name!r}: external has shape {array.shape}, expected {(model.n, 6)}: "
                "a moment and a force for each link, world axes"
            )
    elif name in _POSITIONS or name in _RATES:
        size = model.nq if name in _POSITIONS else model.nv
        if array.shape != (size,):
            raise ValueError(f"model {model.name!r}: {name} has shape {array.shape}, expected ({size},)")


_POSITIONS = ("q", "q0", "q1")
_RATES = ("v", "a", "tau", "joints")


def _joint_of_entry(model: Model, name: str, index: int) -> str:
    if name == "external":
        return f" (link {model.names[index]!r})"
    if name not in _POSITIONS + _RATES:
        return ""
    start = model.links["iq" if name in _POSITIONS else "iv"]
    return f" (joint {model.joint_names[int(np.searchsorted(start, index, side='right')) - 1]!r})"
