"""Checks of arguments; each error is a sentence that names the argument and its value."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np

LOW_BITS = 0xFFFFFFFF


def repr_of(value: Any) -> str:
    """A value as text for an error: one line of limited length."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # endlessly nested lists, and objects whose repr raises
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 60 else f"{text[:57]}..."


def as_number(value: Any) -> float:
    """A number as float; NaN for any other object, including strings and bools."""
    if isinstance(value, float):
        return value
    if getattr(value, "shape", None) == ():  # NumPy's
        value = value[()]
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


def as_floats(value: Any) -> Any:
    """An array of float64; masked entries, which are no numbers, are NaN."""
    if isinstance(value, np.ma.MaskedArray):
        value = np.ma.filled(value.astype(np.float64), np.nan)
    return np.asarray(value, dtype=np.float64)


def check_finite(what: str, value: Any, least: float = -math.inf, most: float = math.inf) -> float:
    """A number that is finite and in a range."""
    number = as_number(value)
    if not (math.isfinite(number) and least <= number <= most):
        span = f"from {least:g} to {most:g}"
        if most == math.inf:
            span = "finite" if least == -math.inf else f"finite, {least:g} or more"
        raise ValueError(f"{what} is {repr_of(value)}, and must be {span}")
    return number


def check_positive(what: str, value: Any) -> float:
    """A finite number above 0."""
    number = as_number(value)
    if not 0.0 < number < math.inf:
        raise ValueError(f"{what} is {repr_of(value)}, and must be positive and finite")
    return number


def check_limit(what: str, value: Any) -> float:
    """An upper limit: a number from 0 on, or infinity."""
    number = as_number(value)
    if not number >= 0.0:
        raise ValueError(f"{what} is {repr_of(value)}, and must be 0 or more")
    return number


def check_whole(what: str, value: Any, least: int = 0, most: int = (1 << 63) - 1) -> int:
    """An integer in a range."""
    good = type(value) is int or (isinstance(value, Integral) and not isinstance(value, bool))
    if not good or not least <= int(value) <= most:
        span = f"{least} or more" if most == (1 << 63) - 1 else f"from {least} to {most}"
        raise ValueError(f"{what} is {repr_of(value)}, and must be a whole number, {span}")
    return int(value)


def check_bits(what: str, value: Any) -> int:
    """A set of groups: 32 bits."""
    good = type(value) is int or (isinstance(value, Integral) and not isinstance(value, bool))
    if not good or not 0 <= int(value) <= LOW_BITS:
        raise ValueError(f"{what} is {repr_of(value)}, expected 32 bits: 0 to 0xFFFFFFFF")
    return int(value)


def check_flag(what: str, value: Any) -> bool:
    """True or False."""
    if not (isinstance(value, bool) or type(value).__name__ in ("bool", "bool_")):
        raise TypeError(f"{what} is {repr_of(value)}, and must be True or False")
    return bool(value)


def check_choice(what: str, value: Any, there: Iterable[str]) -> str:
    """One of some names."""
    known = tuple(there)
    if not (isinstance(value, str) and value in known):
        raise KeyError(f"{what} is {repr_of(value)}, and must be one of {', '.join(known)}")
    return value


def check_text(what: str, value: Any) -> str:
    """A string."""
    if not isinstance(value, str):
        raise TypeError(f"{what} is {repr_of(value)}, and must be a string")
    return value
