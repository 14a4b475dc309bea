"""What is put off until a kernel is called: to import Numba takes as long as to import all the rest.

Decorators note what they are given, and functions that kernels call in a way of their own wait here to be made known to
Numba. `machinery` brings the module that compiles and loads (`jit.compiler.dispatch`), with all that it must know.
"""

from __future__ import annotations

import functools
import gc
import importlib
import inspect
import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

_CONFIGURED = ".numba_config.yaml"  # a file in which Numba looks for its settings
_waiting: deque[Callable[[Any], object]] = deque()
_lock = threading.RLock()
_module: Any = None  # the machinery, as soon as functions can be called with it
_busy = _complete = False


def when_needed(register: Callable[[Any], object]) -> None:
    """Call a function that tells Numba something, with the machinery: when the first kernel is needed, or now if that
    was before."""
    _waiting.append(register)
    if _module is not None:
        _tell()


def emit(numba: Any, function: Any, typed: Callable[..., Any], lowered: Callable[..., Any], like: Any = None) -> None:
    """Let `lowered` make the code of a call by a kernel, with the signature that `typed` gives for types of arguments.

    `like` is a function with the same parameters, if it is not the one that is called.
    """
    parameters = inspect.signature(like or function)

    def typing(context: Any) -> Callable[..., Any]:
        typer = functools.partial(typed, context)
        vars(typer)["__signature__"] = parameters  # Numba looks for the names of the parameters
        return typer

    numba.type_callable(function)(typing)
    numba.lower_builtin(function, *[numba.types.Any] * len(parameters.parameters))(lowered)


def machinery() -> Any:
    """The module that compiles and loads kernels."""
    if not _complete:
        with _lock:
            if not (_busy or _complete):  # these functions ask for it, too
                _load()
    return _module


def _load() -> None:
    global _module, _busy, _complete
    collects, _busy = gc.isenabled(), True
    gc.disable()  # a hundred thousand objects are made that stay: to look through them is in vain
    try:
        _module = importlib.import_module("kinemorph.jit.compiler.dispatch")
        _tell()
        _complete = True
    finally:
        _busy = False
        if collects:
            gc.enable()


def _tell() -> None:
    while _waiting:
        try:
            register = _waiting.popleft()
        except IndexError:  # another thread was faster
            return
        register(_module)


def is_switched_off() -> bool:
    """Whether Numba compiles nothing: kernels are then plain Python."""
    if "numba" in sys.modules:
        return bool(importlib.import_module("numba").config.DISABLE_JIT)  # when it is there: another thread imports it
    return _off_by_environment()


@functools.cache
def _off_by_environment() -> bool:
    """The same, as far as possible without Numba."""
    try:
        if not os.path.exists(_CONFIGURED):
            return int(os.environ.get("NUMBA_DISABLE_JIT", 0)) != 0
    except ValueError:
        pass  # Numba says what is wrong with it
    return bool(importlib.import_module("numba").config.DISABLE_JIT)
