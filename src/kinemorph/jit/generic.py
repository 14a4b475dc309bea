"""Functions of numbers that have a version of their own for lanes: kernels get the one for their types."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeVar, overload

import numpy as np

from kinemorph.jit.lazy_import import emit, is_switched_off, when_needed

Function = TypeVar("Function", bound=Callable[..., Any])
Options = ParamSpec("Options")
Emitted = tuple[Callable[..., Any], Callable[..., Any]]

lane_modules: dict[Any, str] = {}  # by generic function: where its version for lanes is, if that is not beside it


class Decorator(Protocol[Options]):
    """`@decorator`, or `@decorator(...)` with options: what is decorated keeps its type."""

    @overload
    def __call__(self, function: Function, /) -> Function: ...
    @overload
    def __call__(self, *none: Options.args, **options: Options.kwargs) -> Callable[[Function], Function]: ...


def with_options(decorator: Callable[Options, Callable[[Any], Any]]) -> Decorator[Options]:
    """Let what makes a decorator of options be a decorator itself, which leaves out the options."""

    made: Any = decorator

    @functools.wraps(decorator)
    def decorate(*function: Any, **options: Any) -> Any:
        return made(**options)(*function) if function else made(**options)

    return decorate


@with_options
def generic(*, lanes: str | None = None, emitted: Emitted | None = None) -> Callable[[Function], Function]:
    """A function of numbers of which lanes have a version of their own: kernels get the one for their types.

    `lanes` is the module with that version, if it is not this one: kernels depend on it, imported or not. What takes an
    instruction or two is `emitted` where it is called for numbers, and not compiled as a function: it says of the types
    of arguments what the signature is, and makes the code.
    """

    def register(function: Function) -> Function:
        if lanes is not None:
            lane_modules[function] = lanes
        if is_switched_off():
            return _chosen_when_called(function)
        if emitted:
            when_needed(lambda numba: _emit(numba, function, *emitted))
        else:
            in_kernels(function, function, lambda lanes: not lanes)
        return function

    return register


def _emit(numba: Any, function: Any, typed: Callable[..., Any], lowered: Callable[..., Any]) -> None:
    def signature(context: Any, *arguments: Any) -> Any:
        return None if any(map(numba.is_lanes, arguments)) else typed(numba, context, *arguments)

    emit(numba, function, signature, lowered)


def for_lanes(function: Callable[..., Any]) -> Callable[[Function], Function]:
    """Register the decorated function as the version of a generic function for lanes."""

    def register(version: Function) -> Function:
        if version.__module__ != function.__module__:
            lane_modules[function] = version.__module__
        if is_switched_off():
            vars(function)["for_lanes"] = version
        else:
            in_kernels(function, version, lambda lanes: lanes)
        return version

    return register


def _chosen_when_called(function: Function) -> Function:
    """Without the JIT there are no types to choose by ahead of time."""

    @functools.wraps(function)
    def choose(*arguments: Any) -> Any:
        if any(map(_holds_lanes, arguments)):
            return choose.for_lanes(*arguments)  # type: ignore[attr-defined]
        return function(*arguments)

    return choose  # type: ignore[return-value]


def _holds_lanes(value: Any) -> bool:
    """`is_lanes` for values: lanes themselves are a subclass of arrays then (`spatial.lanes.lane_type`)."""
    if isinstance(value, np.void):
        return "lanes" in (value.dtype.names or ())
    return bool(getattr(value, "is_lanes", False) or np.ndim(value) > 1)


def in_kernels(function: Any, version: Any, wanted: Callable[[bool], bool], options: Any = None) -> None:
    """Let kernels call `version` for `function`, if that is wanted for arguments with or without lanes."""

    def register(numba: Any) -> None:
        def choose(*arguments: Any) -> Any:
            return version if wanted(any(map(numba.is_lanes, arguments))) else None

        vars(choose)["__signature__"] = inspect.signature(version)  # Numba compares the names of the parameters
        numba.overload(function, jit_options=numba.OVERLOAD if options is None else options)(choose)

    when_needed(register)
