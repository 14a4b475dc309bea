"""Rigid bodies that change while they move: connect, cut, re-root. Import as `km`.

`__init__.pyi` lists the public names and where each one lives. A name is imported at its first use: a
program that needs only the dynamics does not load the viewer, and `kinemorph --help` does not load Numba.
"""

import ast as _ast
import gc as _gc
from importlib import import_module as _import_module
from pathlib import Path as _Path
from sys import modules as _modules

__version__ = "0.1.0"


def _listed() -> tuple[dict[str, str], list[str]]:
    """From the stub: the module of each name, and the names that are public."""
    where: dict[str, str] = {}
    public: list[str] = []
    for part in _ast.parse(_Path(__file__).with_suffix(".pyi").read_text("utf-8")).body:
        if isinstance(part, _ast.ImportFrom) and part.module:
            where |= {name.name: part.module for name in part.names}
        elif isinstance(part, _ast.Assign):
            public = _ast.literal_eval(part.value)
    return where, public


_WHERE, __all__ = _listed()


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"kinemorph has no {name!r}")
    collects = _gc.isenabled()
    _gc.disable()  # a hundred thousand objects are made that stay: to look through them is in vain, and takes a sixth
    try:
        place = _import_module(_WHERE[name])
        value = _import_module(f"{place.__name__}.{name}") if hasattr(place, "__path__") else getattr(place, name)
        value = _modules.get(f"{__name__}.{name}", value)  # `view` is a folder, too, and can be called
    finally:
        if collects:
            _gc.enable()
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
