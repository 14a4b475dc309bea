"""Type inference as Numba does it, where each question is asked once: the types that come out are the same."""

from __future__ import annotations

from typing import Any

from numba import types

from kinemorph.jit.compiler.numba_names import found

_Literally: Any = found("core.errors.ForceLiteralArg")
_Error: Any = found("core.errors.TypingError")

_READS: dict[str, tuple[str, ...]] = {  # by the kind of constraint: where it has the variables that it reads or writes
    "ArgConstraint": ("dst", "src"),
    "BuildTupleConstraint": ("target", "items"),
    "CallConstraint": ("target", "func", "args"),
    "ExhaustIterConstraint": ("target", "iterator"),
    "GetAttrConstraint": ("target", "value"),
    "IntrinsicCallConstraint": ("target", "args"),
    "PairFirstConstraint": ("target", "pair"),
    "PairSecondConstraint": ("target", "pair"),
    "Propagate": ("dst", "src"),
    "SetAttrConstraint": ("target", "value"),
    "SetItemConstraint": ("target", "index", "value"),
    "StaticGetItemConstraint": ("target", "value"),
    "StaticSetItemConstraint": ("target", "index_var", "value"),
}


def propagate(network: Any, inferer: Any) -> list[Any]:
    """Follow all constraints once; Numba calls this until no type changes.

    A constraint is left out if the types of all its variables are those that it left behind.
    """
    errors: list[Any] = []
    left = vars(network).setdefault("left", {})  # by constraint: its variables, and their types
    with inferer.warnings.catch_warnings():
        for constraint in network.constraints:
            variables, kinds = left.get(constraint, (None, None))
            if variables is not None and [variable.type for variable in variables] == kinds:
                continue
            try:
                constraint(inferer)
            except (_Literally, _Error) as error:
                left.pop(constraint, None)
                errors.append(error if isinstance(error, _Literally) else _at(constraint, error))
            else:
                variables = variables or _variables(constraint, inferer.typevars)
                left[constraint] = variables, variables and [variable.type for variable in variables]
    return errors


def _at(constraint: Any, error: Any) -> Any:
    located = _Error(str(error), loc=constraint.loc, highlighting=False)
    located.__cause__ = error
    return located


def _variables(constraint: Any, known: Any) -> Any:
    """The variables of a constraint, as they are known after it was followed; None if it is to be followed always."""
    where = _READS.get(type(constraint).__name__)
    if where is None or getattr(constraint, "vararg", None) or getattr(constraint, "kws", None):
        return None
    if (fallback := getattr(constraint, "fallback", None)) is not None:
        return _variables(fallback, known)
    found = []
    for name in where:
        value = getattr(constraint, name)
        for item in value if isinstance(value, list | tuple) else (value,):
            found.append(known[item if isinstance(item, str) else item.name])
    return found


def state_token(inferer: Any) -> list[Any]:
    """What Numba compares to see whether a type has changed; it has it sorted."""
    return [variable.type for variable in inferer.typevars.values()]


def hash_of_type(kind: Any) -> int:
    """The hash of a type, of which Numba knows one object; it is asked for a hundred times as often as it is new."""
    known = _hashes.get(id(kind))
    if known is not None:
        return known[1]
    value = hash(kind.key)
    if hasattr(kind, "_code"):  # else it may be a second one, which Numba is about to forget
        _hashes[id(kind)] = kind, value
    return value


_hashes: dict[int, tuple[Any, int]] = {}  # by identity, and kept alive


def variable(variables: Any, name: str) -> Any:
    """A variable that is asked for the first time."""
    made = _TypeVar(variables.context, name)
    dict.__setitem__(variables, name, made)
    return made


_TypeVar: Any = found("core.typeinfer.TypeVar")


def known_call_type(numbas: Any) -> Any:
    """What a call of a built-in function or of a kernel is: found once, where Numba looks for it in every call."""

    def call_type(function: Any, context: Any, arguments: Any, keywords: Any) -> Any:
        if keywords or (isinstance(function, types.Dispatcher) and not hasattr(function.dispatcher, "called")):
            return numbas(function, context, arguments, keywords)
        known = vars(function).setdefault("_known_call_types", {})
        if arguments not in known:
            known[arguments] = numbas(function, context, arguments, keywords)
        return known[arguments]

    return call_type
