"""What an earlier process found out about a kernel: its key, without a look at all that it is made of.

To find the key of a world's step means to follow the names in a thousand functions and the imports of two hundred
modules: half of the time until the first step. A *note* keeps the key, the modules that it was found in, and a
*fingerprint* of these: what their sources are, and, of those that have kernels that it calls, what the code of their
kernels is and what their names stand for. If the fingerprint is the same, so is the key. What else a program has
imported makes no difference.
"""

from __future__ import annotations

import functools
import hashlib
import json
import operator
import sys
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from kinemorph.jit.cache import keys
from kinemorph.jit.cache.source_hash import file_digest

_MACHINERY = "kinemorph.jit."  # its names change while it works, and no kernel sees them


def note_name(kernel: Any, arguments: tuple[Any, ...], result: Any) -> str | None:
    """What a note about the version of a kernel for some types is called; None if there is none."""
    front = kernel.kernel
    function, text = front.py_func, keys.types_text(arguments, result)
    if function.__closure__ or not keys.is_known_by_name(front) or text is None:
        return None
    return keys.hash_of(keys.PYTHON, front.__module__, front.__qualname__, keys.options_text(kernel), text)[:40]


def note_about(kernel: Any, arguments: tuple[Any, ...], version: str) -> bytes | None:
    """A note of the key that was found; None if it depends on more than a fingerprint sees."""
    front = kernel.kernel
    modules = {*keys.key_modules(front), *keys.extension_modules(front, arguments)}
    reached = keys.reachable(front)
    named = {name for kernel in reached for name in keys.used_modules(kernel)}
    if any(name.partition(".")[0] not in _STEADY for name in named - modules):  # values could change there
        return None
    homes = {kernel.py_func.__module__ for kernel in reached}
    if homes - modules:
        return None
    looked_into = homes | (named & modules)
    places = sorted(looked_into), sorted(modules - looked_into)
    seen = _fingerprint(*places)
    return json.dumps([version, seen, *places]).encode() if seen else None


_STEADY = {*sys.stdlib_module_names, "llvmlite", "numba", "numpy"}


def version_in(note: bytes) -> str | None:
    """The key that a note keeps, if it still holds."""
    try:
        version, seen, looked_into, others = json.loads(note)
        return str(version) if seen == _fingerprint(looked_into, others) else None
    except (ValueError, TypeError, AttributeError, RecursionError):  # of another kinemorph, or damaged
        return None


def _fingerprint(looked_into: list[str], others: list[str]) -> str | None:
    texts = [*map(_module_text, looked_into), *map(_source, others)]
    return None if None in texts else keys.hash_of(*texts)


_texts: dict[str, tuple[list[Any], str | None]] = {}  # by module: what its names stood for, and the text of that


def _module_text(name: str) -> str | None:
    """What a module is: its source as it is now, and what it holds in this process; None if that cannot be told."""
    digest = _source(name)
    if name.startswith(_MACHINERY) or name not in sys.modules:
        return digest
    names = vars(sys.modules[name])
    values = list(names.values())
    known, text = _texts.get(name, ([], None))
    if len(known) != len(values) or not all(map(operator.is_, known, values)):
        parts = [(key, _text(value, name)) for key, value in sorted(names.items()) if key[:2] != "__"]
        unknown = digest is None or any(part is None for _, part in parts)
        text = None if unknown else keys.hash_of(digest, [part for part in parts if part[1]])
        _texts[name] = values, text
    return text


@functools.cache
def _source(name: str) -> str | None:
    file = keys.module_file(name)
    return file and file_digest(file)


def _text(value: Any, module: str) -> str | None:
    """What a name stands for, as far as kernels can see it and the source does not say it; None if it is unknown."""
    kind = type(value)
    if kind in _PLAIN:
        return repr(value)
    if keys.is_kernel(value):
        if value.py_func.__module__ == module:
            return _code_text(value)
        return f"{value.__module__}.{value.__qualname__}" if keys.is_known_by_name(value) else None
    if kind is tuple:
        texts = [_text(item, module) for item in value]
        return None if None in texts else repr(texts)
    if kind is np.ndarray:
        return keys.constant_text(value)
    if isinstance(value, np.dtype):
        return _row_text(value)
    if isinstance(value, ModuleType):  # parts of a package become its names when a module imports them
        return "" if value.__name__.startswith(f"{module}.") else value.__name__
    return keys.constant_text(value) if isinstance(value, np.generic | type) else ""


def _row_text(dtype: Any) -> str:
    """Of the layout of rows: many modules name the same one, and it never changes."""
    if id(dtype) not in _rows:
        fields = [(field[0].str, field[0].shape, field[1]) for field in (dtype.fields or {}).values()]
        _rows[id(dtype)] = dtype, f"{dtype.str}{dtype.names}{fields}"
    return _rows[id(dtype)][1]


_rows: dict[int, tuple[Any, str]] = {}  # by identity: to hash one takes as long as to tell what it is
_PLAIN = {bool, int, float, complex, str, bytes, type(None)}


def _code_text(kernel: Any) -> str | None:
    """What a kernel runs, whatever its file holds by now."""
    function = kernel.py_func
    digest = hashlib.sha256()
    for code in keys.codes(function.__code__):
        constants = [item for item in code.co_consts if not isinstance(item, CodeType)]
        digest.update(code.co_code)
        digest.update(repr((code.co_names, code.co_firstlineno, constants)).encode())
    enclosed = (function.__defaults__, function.__kwdefaults__, *(c.cell_contents for c in function.__closure__ or ()))
    if any(enclosed):
        if (text := keys.constant_text(enclosed)) is None:
            return None
        digest.update(text.encode())
    return digest.hexdigest() + repr(getattr(kernel, "options", None))
