"""Annotations as predicates: the values that each accepts, and its description in error texts."""

from __future__ import annotations

import ast
import builtins
import collections.abc as abc
import dis
import inspect
import os
import sys
import typing
from collections.abc import Callable, Iterable
from functools import cache
from numbers import Integral, Real
from pathlib import Path
from types import GenericAlias, TracebackType, UnionType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kinemorph.spatial.arguments.checks import repr_of

Test = Callable[[Any], bool]

PACKAGE = str(Path(__file__).parents[2]) + os.sep
INTEGER_LIMIT = 1 << 63
MOST_GIVEN = 100  # arguments of a variadic function that are compared before it works
LISTS = (list, tuple, set, frozenset, abc.Sequence, abc.Iterable, abc.Collection, abc.Iterator, abc.Set, abc.Container)


def is_package_error(error: BaseException) -> bool:
    """Whether an error comes from a `raise` of this package, and so has a complete message."""
    trace = error.__traceback__
    assert trace is not None
    while trace.tb_next is not None:
        trace = trace.tb_next
    file = trace.tb_frame.f_code.co_filename
    return file.startswith(PACKAGE) and not file.startswith(f"{PACKAGE}jit{os.sep}") and _raises(trace)


def _raises(trace: TracebackType) -> bool:
    code = trace.tb_frame.f_code.co_code
    return 0 <= trace.tb_lasti < len(code) and dis.opname[code[trace.tb_lasti]] == "RAISE_VARARGS"


class Kind(NamedTuple):
    """The values that an annotation accepts, and its description, singular and plural."""

    accepts: Callable[[Any], bool]
    one: str
    many: str


def accept_anything(value: Any) -> bool:
    """The predicate of unknown annotations: every value passes."""
    return True


def argument_tests(function: Any, by_name: dict[str, Test]) -> tuple[Test, ...]:
    """Predicates of the positional arguments, and of all arguments by name."""
    kinds, variadic = argument_kinds(inspect.unwrap(function))
    by_name |= {"**": accept_anything} | {name: kind.accepts for name, kind in kinds.items() if name not in variadic}
    in_order: list[Test] = []
    for name, parameter in inspect.signature(inspect.unwrap(function)).parameters.items():
        test = kinds[name].accepts if name in kinds else accept_anything
        if parameter.kind is parameter.VAR_KEYWORD:
            by_name["**"] = test
        elif parameter.kind is not parameter.KEYWORD_ONLY:
            in_order += [test] * (MOST_GIVEN if parameter.kind is parameter.VAR_POSITIONAL else 1)
    return tuple(in_order)


def check_arguments(function: Any, args: Iterable[Any], named: dict[str, Any], failed: bool = False) -> None:
    """Raise a TypeError for the first argument that does not fit its annotation.

    If the call has `failed` and all others fit, an iterator is reported: it is used up, and was not checked.
    """
    plain = inspect.unwrap(function)
    try:
        bound = inspect.signature(plain).bind(*args, **named)
    except TypeError:
        return  # Python itself reports missing and surplus arguments
    kinds, variadic = argument_kinds(plain)
    for name, value in bound.arguments.items():
        if name not in kinds:
            continue
        values = value if name in variadic else [value]
        for each in values.items() if isinstance(values, dict) else [(name, one) for one in values]:
            called, one = each
            if not kinds[name].accepts(one):
                words = kinds[name].one.removesuffix(" or None")
                where = plain.__qualname__.removesuffix(".__init__")
                raise TypeError(f"{where}: {called} is {repr_of(one)}, and must be {words}")
    for name, value in bound.arguments.items():  # then something in what could not be looked into
        if failed and name in kinds and isinstance(value, abc.Iterator):
            raise TypeError(f"{plain.__qualname__}: {name} is {repr_of(value)}, whose values do not fit; give a list")


@cache
def argument_kinds(function: Any) -> tuple[dict[str, Kind], frozenset[str]]:
    """The kinds of a function's annotated arguments, and the names of variadic ones."""
    scope = {**vars(builtins), **function.__globals__, **_type_checking_names(function)}
    annotations = function.__annotations__
    parameters = inspect.signature(function).parameters
    found = {}
    for name, parameter in parameters.items():
        if name in annotations:
            kind = _kind(annotations[name], scope)
            if kind is not None:
                found[name] = kind if parameter.default is not None else _or_none(kind)
    variadic = {name for name, p in parameters.items() if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    return found, frozenset(variadic)


def _type_checking_names(function: Any) -> dict[str, Any]:
    """Names that a module imports for type checkers alone: public ones of the package."""
    package = sys.modules["kinemorph"]
    return {name: _LateClass(name) for name in getattr(package, "_WHERE", ()) if name not in function.__globals__}


class _LateClass(NamedTuple):
    """A public class by its name, resolved on demand."""

    name: str


# ------------------------------------------------------------------------------------------------------ annotations


def _kind(said: Any, scope: dict[str, Any]) -> Kind | None:
    """The kind of an annotation, a string or an object. None if every value fits, and for unknown annotations."""
    if isinstance(said, str):
        said = _evaluate_annotation(ast.parse(said.strip(), mode="eval").body, scope)
    return _kind_of(said, scope)


class _Generic(NamedTuple):
    """Something[...] as it is written."""

    origin: Any
    inner: tuple[Any, ...]


class _Either(NamedTuple):
    """This | that, as it is written."""

    choices: tuple[Any, ...]


UNKNOWN = object()


def _evaluate_annotation(node: ast.expr, scope: dict[str, Any]) -> Any:
    """The object that an expression of an annotation evaluates to."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            return _evaluate_annotation(ast.parse(node.value, mode="eval").body, scope)
        return node.value
    if isinstance(node, ast.Name):
        return scope.get(node.id, UNKNOWN)
    if isinstance(node, ast.Attribute):
        return getattr(_evaluate_annotation(node.value, scope), node.attr, UNKNOWN)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _Either((_evaluate_annotation(node.left, scope), _evaluate_annotation(node.right, scope)))
    if isinstance(node, ast.Subscript):
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        origin = _evaluate_annotation(node.value, scope)
        literal = origin is typing.Literal
        return _Generic(
            origin, tuple(ast.literal_eval(one) if literal else _evaluate_annotation(one, scope) for one in inner)
        )
    return UNKNOWN


def _kind_of(said: Any, scope: dict[str, Any]) -> Kind | None:
    if said is Any or said is UNKNOWN:
        return None
    if said is npt.ArrayLike:
        return ARRAY
    if isinstance(said, _Either):
        return _union([_kind_of(choice, scope) for choice in said.choices])
    if isinstance(said, UnionType) or typing.get_origin(said) is typing.Union:
        return _union([_kind(choice, scope) for choice in typing.get_args(said)])
    if isinstance(said, _Generic):
        return _generic(said.origin, said.inner, scope)
    if isinstance(said, GenericAlias) or typing.get_origin(said) is not None:
        return _generic(typing.get_origin(said), typing.get_args(said), scope)
    if said is None or said is type(None):
        return NONE
    if isinstance(said, _LateClass):
        name = said.name
        return Kind(lambda value: any(c.__name__ == name for c in type(value).__mro__), _a(name), f"{name}s")
    return _class(said) if isinstance(said, type) else None


def _class(kind: type) -> Kind | None:
    if kind in SIMPLE:
        return SIMPLE[kind]
    if kind is object:
        return None
    if getattr(kind, "_is_protocol", False):
        return _protocol(kind)
    if kind in LISTS or kind in (abc.Mapping, dict):
        return _generic(kind, (), {})
    name = kind.__name__
    return Kind(lambda value: isinstance(value, kind), _a(name), f"{name}s")


def _protocol(kind: type) -> Kind:
    """Objects with all methods of a protocol."""
    members = [(name, found) for name, found in vars(kind).items() if name[0] != "_" and inspect.isfunction(found)]
    methods = [name for name, found in members if not hasattr(found, "not_needed")]
    words = f"an object with {', '.join(methods)}" if methods else "an object"
    return Kind(lambda value: all(callable(getattr(value, name, None)) for name in methods), words, "objects")


def check_fields(record: Any) -> None:
    """Raise a TypeError for the first field of a record that does not fit its annotation."""
    made_of: Any = type(record)
    for name, kind in _field_kinds(made_of).items():
        value = getattr(record, name)
        if not kind.accepts(value):
            raise TypeError(f"{type(record).__name__}: {name} is {repr_of(value)}, and must be {kind.one}")


@cache
def _field_kinds(record: Any) -> dict[str, Kind]:
    try:
        hints = typing.get_type_hints(record)
    except NameError:  # a class that a user imports for type checkers only
        return {}
    said = {name: _kind(hint, {}) for name, hint in hints.items()}
    return {name: kind for name, kind in said.items() if kind is not None}


def _generic(origin: Any, inner: tuple[Any, ...], scope: dict[str, Any]) -> Kind | None:
    if origin is typing.Literal:
        return Kind(lambda value: isinstance(value, str) and value in inner, " or ".join(map(repr, inner)), "words")
    if origin is np.ndarray or origin is npt.NDArray:
        return ANY_ARRAY if "Any" in str(inner[-1]).rpartition("dtype")[2] else ROWS
    if origin is os.PathLike:
        return PATH
    if origin is type:
        base = inner[0] if inner and type(inner[0]) is type else object
        return Kind(lambda c: isinstance(c, type) and issubclass(c, base), f"a kind of {base.__name__}", "classes")
    if origin in (abc.Callable, typing.Callable):
        return FUNCTION
    if origin is typing.Annotated:
        return _kind(inner[0], scope)
    if origin in (abc.Mapping, dict):
        return _mapping_of(*[_kind(one, scope) or ANYTHING for one in inner or (Any, Any)])
    if origin in LISTS:
        inner = tuple(one for one in inner if one is not Ellipsis)
        return _list_of(
            [_kind(one, scope) for one in inner], bounded=origin is tuple and len(inner) > 1, kept=origin is tuple
        )
    if isinstance(origin, typing.TypeVar) or not isinstance(origin, type):
        return None
    return _class(origin)


def _union(kinds: list[Kind | None]) -> Kind | None:
    some = [kind for kind in kinds if kind is not None]
    if len(some) < len(kinds):
        return None
    if PATH in some:  # some strings are none
        some = [kind for kind in some if kind is not SIMPLE[str]]
    one, many = (" or ".join(dict.fromkeys(words)) for words in ([k.one for k in some], [k.many for k in some]))
    return Kind(lambda value: any(kind.accepts(value) for kind in some), one, many)


def _or_none(kind: Kind) -> Kind:
    return Kind(lambda value: value is None or kind.accepts(value), kind.one, kind.many)


def _list_of(kinds: list[Kind | None], bounded: bool, kept: bool) -> Kind:
    """An iterable with entries of one kind. The entries of one-shot iterators are not checked, nor `kept`."""
    known = [kind for kind in kinds if kind is not None]
    whole = len(known) == len(kinds) and len(known) > 0
    many = " or ".join(dict.fromkeys(kind.many for kind in known)) if whole else "values"

    def accepts(value: Any) -> bool:
        if isinstance(value, str | bytes | dict) or not isinstance(value, abc.Iterable | np.ndarray):
            return False
        if isinstance(value, np.ndarray) and not value.ndim:
            return False
        if not isinstance(value, abc.Collection | np.ndarray):
            return not kept
        if not whole:
            return True
        try:
            entries = list(value)
        except Exception:
            return False
        if bounded:
            return len(entries) == len(known) and all(k.accepts(one) for k, one in zip(known, entries, strict=True))
        return all(known[0].accepts(one) for one in entries)

    return Kind(accepts, f"{len(known)} {many}" if bounded else f"a list of {many}", f"lists of {many}")


def _mapping_of(key: Kind, value: Kind) -> Kind:
    def accepts(table: Any) -> bool:
        entries = table.items() if isinstance(table, abc.Mapping) else [(UNKNOWN, UNKNOWN)]
        return isinstance(table, abc.Mapping) and all(key.accepts(k) and value.accepts(v) for k, v in entries)

    return Kind(accepts, f"a dict of {key.many} and {value.many}", "dicts")


def _a(name: str) -> str:
    return f"{'an' if name[0] in 'AEIO' else 'a'} {name}"


def _is_real(value: Any) -> bool:
    if type(value) is float:  # NaN, too: the function itself checks ranges
        return True
    if isinstance(value, np.ndarray) and value.shape == ():
        value = value[()]
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True


def _is_whole(value: Any) -> bool:
    if type(value) is int:
        return -INTEGER_LIMIT <= value < INTEGER_LIMIT
    return isinstance(value, Integral) and not isinstance(value, bool) and -INTEGER_LIMIT <= int(value) < INTEGER_LIMIT


def _is_array(value: Any) -> bool:
    if isinstance(value, str | bytes | dict | set | type | np.ma.MaskedArray):  # masked entries are not numbers
        return False
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        return True
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):  # lists of several lengths
        return False
    return array.dtype.kind in "biuf" or (array.dtype.kind == "O" and all(map(_is_real, array.ravel().tolist())))


def _is_path(value: Any) -> bool:
    try:
        return isinstance(value, str | os.PathLike) and b"\0" not in os.fsencode(value)
    except ValueError:  # half of a character
        return False


NONE = Kind(lambda value: value is None, "None", "None")
ARRAY = Kind(_is_array, "an array of real numbers", "arrays")
ROWS = Kind(lambda value: _is_array(value) and np.ndim(value) > 0, "an array of real numbers, not of one", "arrays")
ANY_ARRAY = Kind(lambda value: isinstance(value, np.ndarray) or _is_array(value), "an array", "arrays")
PATH = Kind(_is_path, "a path", "paths")
FUNCTION = Kind(callable, "a function", "functions")
ANYTHING = Kind(accept_anything, "anything", "values")
SIMPLE: dict[type, Kind] = {
    float: Kind(_is_real, "a real number", "numbers"),
    int: Kind(_is_whole, "a whole number", "whole numbers"),
    bool: Kind(lambda value: isinstance(value, bool | np.bool_), "True or False", "truth values"),
    str: Kind(lambda value: isinstance(value, str), "a string", "strings"),
    bytes: Kind(lambda value: isinstance(value, bytes | bytearray | memoryview), "bytes", "pieces of bytes"),
    np.ndarray: ANY_ARRAY,
    Path: PATH,
}
