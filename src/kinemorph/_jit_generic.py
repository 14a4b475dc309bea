"""Functions of numbers that have a version of their own for lanes: kernels get the one for their types."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from numba import types
from numba.extending import overload

from ._jit_options import OVERLOAD

Function = TypeVar("Function", bound=Callable[..., Any])

lane_modules: dict[Any, str] = {}  # by generic function: where its version for lanes is, if that is not beside it


def is_lanes(numba_type: Any) -> bool:
    """Whether an argument type belongs to four states at once: lanes, arrays of them, or a tree of them."""
    if isinstance(numba_type, types.Array):
        return bool(numba_type.ndim > 1)
    if isinstance(numba_type, types.Record):
        return "lanes" in numba_type.fields
    return bool(getattr(numba_type, "is_lanes", False))


@typing.overload
def generic(function: Function) -> Function: ...
@typing.overload
def generic(*, lanes: str) -> Callable[[Function], Function]: ...
def generic(function: Any = None, *, lanes: str | None = None) -> Any:
    """A function of numbers of which lanes have a version of their own: kernels get the one for their types.

    `lanes` is the module with that version, if it is not this one: kernels depend on it, imported or not.
    """
    if function is None:
        return functools.partial(generic, lanes=lanes)
    if lanes is not None:
        lane_modules[function] = lanes
    if numba.config.DISABLE_JIT:
        return _chosen_when_called(function)
    in_kernels(function, function, lambda lanes: not lanes)
    return function


def for_lanes(function: Callable[..., Any]) -> Callable[[Function], Function]:
    """Register the decorated function as the version of a generic function for lanes."""

    def register(version: Function) -> Function:
        if version.__module__ != function.__module__:
            lane_modules[function] = version.__module__
        if numba.config.DISABLE_JIT:
            vars(function)["for_lanes"] = version
        else:
            in_kernels(function, version, lambda lanes: lanes)
        return version

    return register


def _chosen_when_called(function: Any) -> Any:
    """Without the JIT there are no types to choose by ahead of time."""

    @functools.wraps(function)
    def choose(*arguments: Any) -> Any:
        if any(map(_holds_lanes, arguments)):
            return choose.for_lanes(*arguments)  # type: ignore[attr-defined]
        return function(*arguments)

    return choose


def _holds_lanes(value: Any) -> bool:
    """`is_lanes` for values: lanes themselves are a subclass of arrays then (`spatial.lanes`)."""
    if isinstance(value, np.void):
        return "lanes" in (value.dtype.names or ())
    return bool(getattr(value, "is_lanes", False) or np.ndim(value) > 1)


def in_kernels(function: Any, version: Any, wanted: Callable[[bool], bool], options: Any = OVERLOAD) -> None:
    """Let kernels call `version` for `function`, if that is wanted for arguments with or without lanes."""

    def choose(*arguments: Any) -> Any:
        return version if wanted(any(map(is_lanes, arguments))) else None

    vars(choose)["__signature__"] = inspect.signature(version)  # Numba compares the names of the parameters
    overload(function, jit_options=options)(choose)
