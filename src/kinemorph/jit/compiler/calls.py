"""Calls of one unit of machine code by another: the callee is compiled, or loaded, when it is first called.

A unit knows another by its key alone. It keeps the address in a slot of its own, empty at first; the first call through
an empty slot comes to Python, which brings the machine code. What a program never calls is never compiled.
"""

from __future__ import annotations

import _thread
import contextlib
import ctypes
import functools
import os
import signal
import sys
import threading
import traceback
import typing
from collections.abc import Callable, Iterator
from typing import Any

import llvmlite.binding
import llvmlite.ir as ir
from numba import types

from kinemorph.jit.compiler.library import SLOT
from kinemorph.jit.compiler.numba_names import is_lanes
from kinemorph.jit.progress import progress

_RESOLVE = "kinemorph_resolve"
_ASKING = "kinemorph.ask"
_DIGITS = 15  # of a key in hexadecimal, in each of two numbers
_NUMBER = ir.IntType(64)
_LATER = 0.05  # seconds in which a callback has certainly returned

_addresses: dict[str, Callable[[], int]] = {}  # by the beginning of a key: brings the machine code
_waiting: threading.Timer | None = None  # an interrupt that will be told to the main thread
_impatience = 0  # interrupts that came since one was told


def expect(key: str, address: Callable[[], int]) -> None:
    """Say where the unit of a key comes from when it is called."""
    _addresses[key[: 2 * _DIGITS]] = address


def _resolve(high: int, low: int, again: int, place: int) -> None:
    """Put the address of a unit into a place. Called by a kernel that is running, which cannot hand an exception on.

    An interrupt that had waited for the kernel may come before anything here does. Then the kernel asks `again`.
    """
    with _interrupts_held(again != 0):
        try:
            ctypes.c_int64.from_address(place).value = _addresses[f"{high:0{_DIGITS}x}{low:0{_DIGITS}x}"]()
        except BaseException:
            traceback.print_exc()
            print("kinemorph: a kernel that another one calls could not be compiled", file=sys.stderr, flush=True)
            os.abort()


@contextlib.contextmanager
def _interrupts_held(came: bool) -> Iterator[None]:
    """Let the user's Ctrl-C, or one that `came`, wait until the kernel has gone on, and returned to where it can be
    heard. However many came while a kernel brought its units, it is one; the third ends the program at once."""
    global _waiting
    if threading.current_thread() is not threading.main_thread():  # only the main thread hears of it
        yield
        return
    heard = [int(signal.SIGINT)] if came else []
    before = signal.signal(signal.SIGINT, lambda number, frame: _held(heard))
    try:
        yield
    finally:
        if _waiting is not None and _waiting.is_alive():
            _waiting.cancel()
            _waiting.join()  # it has told the main thread by now, or never will
            heard.append(int(signal.SIGINT))
        signal.signal(signal.SIGINT, before)
        if heard:
            _waiting = threading.Timer(_LATER, _interrupt)
            _waiting.start()


def _held(heard: list[int]) -> None:
    global _impatience
    heard.append(int(signal.SIGINT))
    _impatience += 1
    if _impatience == 1:
        progress.warn("interrupted: this call ends when what it needs is compiled; Ctrl-C twice more ends it at once")
    elif _impatience >= 3:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.raise_signal(signal.SIGINT)


def _interrupt() -> None:
    """A signal to the main thread, which wakes it, too; where there are none, it is told for when it wakes."""
    global _impatience
    _impatience = 0
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        _thread.interrupt_main()


_callback = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4)(_resolve)
llvmlite.binding.add_symbol(_RESOLVE, ctypes.cast(_callback, ctypes.c_void_p).value)


# --- what a unit returns ---

_RESULTS: dict[Any, Any] = {float: types.float64, int: types.int64, bool: types.boolean, type(None): types.none}


def result_type(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Numba's type of what a kernel returns, if its annotation says so and lanes do not make it another; or None.

    What is a float for one state is lanes for four; a status or a count is the same for all.
    """
    kind = _numba_type(_annotated_result(function))
    return None if _holds_floats(kind) and any(map(is_lanes, arguments)) else kind


def _holds_floats(kind: Any) -> bool:
    return any(map(_holds_floats, kind)) if isinstance(kind, types.BaseTuple) else kind == types.float64


@functools.cache
def _annotated_result(function: Callable[..., Any]) -> Any:
    try:
        return typing.get_type_hints(function).get("return")
    except Exception:  # a name that only type checkers import
        return None


def _numba_type(hint: Any) -> Any:
    if hint in _RESULTS:
        return _RESULTS[hint]
    items = typing.get_args(hint)
    if typing.get_origin(hint) is not tuple or ... in items:
        return None
    kinds = [_numba_type(item) for item in items]
    return None if None in kinds else types.Tuple(kinds)


# --- lowering ---


def call_of_unit(unit: Any, signature: Any, key: str) -> tuple[Any, Any]:
    """Make a unit known to kernels that are compiled next: its signature, and what Numba knows it by."""
    expect(key, lambda: unit.address(signature.args))

    def lower(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        if (calls := getattr(context.active_code_library, "calls", None)) is not None:
            calls[key] = unit.kernel, signature.args
        convention = context.call_conv
        function_type = convention.get_function_type(signature.return_type, signature.args)
        callee = _stub(builder.module, function_type, key[: 2 * _DIGITS])
        status, result = convention.call_function(builder, callee, signature.return_type, signature.args, arguments)
        with builder.if_then(status.is_error, likely=False):
            convention.return_status_propagate(builder, status)
        return result

    token = object()
    unit.targetctx.insert_func_defn([(lower, token, signature.args)])
    return signature, token


def plain_call(context: Any, builder: Any, signature: Any, arguments: Any, key: str) -> Any:
    """The call of a unit that is a C callback."""
    result, *kinds = map(context.get_value_type, (signature.return_type, *signature.args))
    return builder.call(_stub(builder.module, ir.FunctionType(result, kinds), key[: 2 * _DIGITS]), arguments)


def _asking(module: Any) -> Any:
    """A function that asks Python for the address of a unit until it gets it."""
    if _ASKING in module.globals:
        return module.globals[_ASKING]
    resolve = ir.Function(module, ir.FunctionType(ir.VoidType(), [_NUMBER] * 4), _RESOLVE)
    asking = ir.Function(module, ir.FunctionType(_NUMBER, [_NUMBER] * 2), _ASKING)
    asking.linkage = "internal"
    asking.attributes.add("noinline")
    first, ask, know = (asking.append_basic_block() for _ in range(3))
    builder = ir.IRBuilder(first)
    place = builder.alloca(_NUMBER)
    builder.store(_NUMBER(0), place)
    there = builder.ptrtoint(place, _NUMBER)
    builder.branch(ask)
    builder.position_at_end(ask)
    again = builder.phi(_NUMBER)
    again.add_incoming(_NUMBER(0), first)
    again.add_incoming(_NUMBER(1), ask)
    builder.call(resolve, [*asking.args, again, there])
    found = builder.load(place)
    builder.cbranch(builder.icmp_unsigned("==", found, _NUMBER(0)), ask, know)
    ir.IRBuilder(know).ret(found)
    return asking


def _stub(module: Any, function_type: Any, name: str) -> Any:
    """A function that fills its slot if need be, and passes all on to the address there."""
    if f"kinemorph.call.{name}" in module.globals:
        return module.globals[f"kinemorph.call.{name}"]
    slot = ir.GlobalVariable(module, _NUMBER, SLOT + name)
    slot.linkage, slot.initializer = "linkonce_odr", _NUMBER(0)
    stub = ir.Function(module, function_type, f"kinemorph.call.{name}")
    stub.linkage = "linkonce_odr"
    stub.attributes.add("alwaysinline")
    builder = ir.IRBuilder(stub.append_basic_block())
    address = builder.load(slot)
    first, halves = builder.block, (name[:_DIGITS], name[_DIGITS:])
    with builder.if_then(builder.icmp_unsigned("==", address, _NUMBER(0)), likely=False):
        found = builder.call(_asking(module), [_NUMBER(int(half, 16)) for half in halves])
        builder.store(found, slot)
        second = builder.block
    known_address = builder.phi(_NUMBER)
    known_address.add_incoming(address, first)
    known_address.add_incoming(found, second)
    builder.ret(builder.call(builder.inttoptr(known_address, function_type.as_pointer()), stub.args))
    return stub
