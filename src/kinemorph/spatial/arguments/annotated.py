"""Argument errors from annotations: when a call fails inside the package, a sentence names the wrong argument.

Public functions do not check the types of their arguments first: that would slow down each good call. A wrong argument
makes them fail later, with an AttributeError or an IndexError that does not help the caller. The decorator
`checked_on_failure` catches errors that no `raise` of this package raised, compares each argument with its annotation,
and raises a TypeError that names the argument, its value and what is expected. A good call costs 0.2 µs more. For work
that must not be left half done, `checked_first` compares first.

The comparison is in `annotations`, imported on demand, so that no kernel depends on it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

Callee = TypeVar("Callee", bound=Callable[..., Any])

SPECIAL = ("__init__", "__call__", "__getitem__", "__setitem__", "__delitem__", "__matmul__", "__add__")


def checked_on_failure(target: Callee) -> Callee:
    """Decorate a function, or the public methods of a class: an error from inside names the wrong argument."""
    return _decorate_with(target, _explaining)


def checked_first(target: Callee) -> Callee:
    """The same, but arguments are compared before the call: for work that must not be left half done."""
    return _decorate_with(target, _comparing)


def not_needed(method: Callee) -> Callee:
    """Decorate a method of a protocol that only some callers need: objects without it also satisfy the protocol."""
    cast(Any, method).not_needed = True
    return method


def _decorate_with(target: Any, wrapped: Callable[[Any], Any]) -> Any:
    if not isinstance(target, type):
        return wrapped(target)
    for name, found in list(vars(target).items()):
        if name.startswith("_") and name not in SPECIAL:
            continue
        if isinstance(found, staticmethod | classmethod):
            if _has_kinds(found.__func__):
                setattr(target, name, type(found)(wrapped(found.__func__)))
        elif isinstance(found, property):
            if found.fset is not None:
                setattr(target, name, property(found.fget, wrapped(found.fset), found.fdel, found.__doc__))
        elif inspect.isfunction(found) and _has_kinds(found) and not hasattr(found, "_checks_itself"):
            setattr(target, name, wrapped(found))
    return target


def checks_itself(function: Callee) -> Callee:
    """Mark a method that checks its own arguments, and is called too often for the decorator."""
    function._checks_itself = True  # type: ignore[attr-defined]
    return function


def _has_kinds(function: Any) -> bool:
    """Whether a function has arguments with annotations."""
    return len(set(inspect.unwrap(function).__annotations__) - {"return"}) > 0


def _explaining(function: Any) -> Any:
    @wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        try:
            return function(*args, **named)
        except Exception as error:
            from kinemorph.spatial.arguments.annotations import check_arguments, is_package_error

            if not is_package_error(error):
                check_arguments(function, args, named, failed=True)
            raise

    return call


def _comparing(function: Any) -> Any:
    # made by the first call: it needs modules that may not be there yet
    tests: list[tuple[Callable[[Any], bool], ...]] = []
    by_name: dict[str, Callable[[Any], bool]] = {}

    @wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        if not tests:
            from kinemorph.spatial.arguments.annotations import argument_tests

            tests.append(argument_tests(function, by_name))
        good = True
        for value, test in zip(args, tests[0], strict=False):
            good = good and test(value)
        for name, value in named.items():
            good = good and by_name.get(name, by_name["**"])(value)
        if not good:
            from kinemorph.spatial.arguments.annotations import check_arguments

            check_arguments(function, args, named)
        return function(*args, **named)

    return call
