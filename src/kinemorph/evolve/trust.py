"""Tasks and searches of the user's own, found in what the user trusts and nowhere else.

A run's file and a table of settings may come from a stranger. A name in them, such as
`my_tasks:Spin`, never imports anything: it is looked up among classes that the user has given in Python, and in modules
that the user has named at the command. Even there it must be a task or a search before it is called.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from kinemorph._files import quoted, require_file
from kinemorph.creatures.tasks import Task

Trust = Sequence[str | type]  # classes; modules by their name; files of Python by their path
METHODS = {
    "task": ("advice", "founder", "mutate", "viable", "evaluate", "warm"),
    "search": ("ask", "tell"),
}  # what a class must have before it is called


def name_of(kind: type) -> str:
    """The name of a class in settings: module:name."""
    return f"{kind.__module__}:{kind.__qualname__}"


def trusted(trust: Trust) -> tuple[str | type, ...]:
    """The trusted classes and modules, checked for their types."""
    if isinstance(trust, str | type):
        raise TypeError(f"trust: give a list of classes and names of modules, such as [{trust!r}]")
    for one in trust:
        if not isinstance(one, str | type):
            raise TypeError(f"trust: {one!r} is neither a class nor the name of a module")
    return tuple(trust)


def resolve_own_class(place: str, noun: str, trust: Trust) -> Any:
    """The task or the search that `module:name` stands for. ValueError if the user does not trust what it names."""
    module, _, name = place.partition(":")
    if not all(map(str.isidentifier, (*module.split("."), *name.split(".")))):
        raise ValueError(f"{noun} {quoted(place)}: name it as module:name; what --trust takes may be the module's file")
    for one in trust:
        if isinstance(one, type):
            if name_of(one) == place:
                return _fitting(one, place, noun)
        elif _module_name(one) == module:
            return _fitting(_member(one, place, name, noun), place, noun)
    known = (
        f"; trusted are {', '.join(name_of(one) if isinstance(one, type) else one for one in trust)}" if trust else ""
    )
    raise ValueError(
        f"{noun} {quoted(place)} is not one of kinemorph's, and files run no code; if you trust its module, name it:"
        f" --trust {quoted(module)[1:-1]}, or in Python trust=[{quoted(name)[1:-1]}]{known}"
    )


def _module_name(named: str) -> str:
    return Path(named).stem if named.endswith(".py") else named


def _member(named: str, place: str, name: str, noun: str) -> Any:
    """The member of this name of a module that the user has named."""
    module = _imported(named, f"{noun} {quoted(place)}")
    if not hasattr(module, name):
        raise ValueError(f"{noun} {quoted(place)}: module {module.__name__} has no {quoted(name)}")
    return getattr(module, name)


def _imported(named: str, what: str) -> Any:
    """A module by its name, also of the current folder, or by its file.

    Its folder stays in `sys.path`, after all others: workers import it by its name.
    """
    module, folder = _module_name(named), os.getcwd()
    if named.endswith(".py"):
        require_file(named)
        folder = str(Path(named).resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        found = import_module(module)
    except ModuleNotFoundError as error:
        if error.name and module.startswith(error.name):
            raise ValueError(f"{what}: there is no module {quoted(module)}") from None
        raise
    file = getattr(found, "__file__", None)
    if named.endswith(".py") and (file is None or not os.path.samefile(file, named)):
        raise ValueError(f"{named}: there is another module {module}, {file or 'of Python'}; call the file otherwise")
    return found


def _fitting(found: Any, place: str, noun: str) -> Any:
    """It, if it can be what it is taken for: nothing else is ever called."""
    if noun == "task" and isinstance(found, type) and issubclass(found, Task):
        return found
    for name in METHODS[noun]:
        if not callable(getattr(found, name, None)):
            raise ValueError(f"{noun} {quoted(place)}: it has no {name}, which {_PLURALS[noun]} need")
    if noun == "search" and not isinstance(found, type):
        raise ValueError(f"{noun} {quoted(place)}: it is no class")
    return found


_PLURALS = {"task": "problems", "search": "searches"}
