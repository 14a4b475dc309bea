"""The settings of a run: from a TOML file or the command, checked before anything is started."""

from __future__ import annotations

import re
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import msgspec

from kinemorph._files import FileError, quoted, read_bytes
from kinemorph.evolve.run import Monitor
from kinemorph.evolve.search import Budget
from kinemorph.evolve.worker import Limits

_LARGEST = 1 << 20  # bytes of a settings file

SEARCHES = {
    "default": "kinemorph.evolve.recipe:Recipe",
    "map-elites": "kinemorph.evolve.map_elites:MapElites",
    "random": "kinemorph.evolve.random_search:Random",
    "sims": "kinemorph.evolve.sims:Sims",
    "steady": "kinemorph.evolve.steady:Steady",
    "thesis": "kinemorph.evolve.thesis:Thesis",
}


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All that decides a run (down to `monitor`), and how it is computed."""

    task: str  # the name of a task, or module:name of a problem of your own
    search: str = "default"  # one of `SEARCHES`, or module:name of a class of your own
    seed: int = 0
    budget: Budget = Budget()
    of_search: dict[str, Any] = {}  # what the search can be told: see its Settings
    of_task: dict[str, Any] = {}
    monitor: Monitor = Monitor()
    evaluator: Literal["serial", "processes", "ray"] = "processes"
    workers: int | None = None  # by default one for each core
    address: str | None = None  # of a Ray cluster that is there already
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise ValueError(f"seed is {self.seed}, and must not be negative")
        if self.workers is not None and self.workers < 1:
            raise ValueError(f"workers is {self.workers}; at least one must do the work")

    @property
    def deciding(self) -> dict[str, Any]:
        """What the result depends on."""
        names = ("task", "search", "seed", "budget", "of_search", "of_task", "monitor")
        return {name: msgspec.to_builtins(getattr(self, name)) for name in names}


def load_settings(file: Path | str, changes: dict[str, Any] | None = None, kind: Any = Settings) -> Any:
    """Read settings, of a run or of another kind, from a TOML file; `changes` come from the command and win."""
    file = Path(file)
    try:
        text = read_bytes(file, _LARGEST).decode()
        table = tomllib.loads(text)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise FileError(f"{file}: this is not TOML: {error}") from None
    return checked(kind, merged(table, changes or {}), lambda place: f"{file}{_line(text, place)}")


def merged(table: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """The changes put into the table, group by group."""
    result = dict(table)
    for name, value in changes.items():
        inner = isinstance(value, dict) and isinstance(result.get(name), dict)
        result[name] = merged(result[name], value) if inner else value
    return result


def checked(kind: Any, table: dict[str, Any], where: Any = lambda place: "settings") -> Any:
    """A table as settings of some kind, or a sentence that says where it is wrong, and how."""
    try:
        return msgspec.convert(table, kind, str_keys=True)
    except msgspec.ValidationError as error:
        what, _, place = str(error).partition(" - at `$")
        place = place.strip("`.")
        if unknown := re.search(r"unknown field `(\w+)`", what):
            place = f"{place}.{unknown[1]}".strip(".")
            known = ", ".join(_fields(kind, place))
            what = f"there is no such setting; there are {known}" if known else "there is no such setting"
        at = f": {place}" if place else ""
        raise FileError(f"{where(place)}{at}: {what[:1].lower()}{what[1:]}") from None


def _fields(kind: Any, place: str) -> list[str]:
    """The settings that there are where an unknown one was given."""
    for name in place.split(".")[:-1]:
        kind = next((field.type for field in msgspec.structs.fields(kind) if field.name == name), None)
        if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
            return []
    return [field.name for field in msgspec.structs.fields(kind)]


def _line(text: str, place: str) -> str:
    """`:7` if the setting is in line 7."""
    *groups, name = place.split(".")
    group = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[\s*([\w.-]+)\s*\]", line):
            group = header[1]
            if group == place:
                return f":{number}"
        elif group == ".".join(groups) and re.match(rf"\s*[\"']?{re.escape(name)}[\"']?\s*[=.]", line):
            return f":{number}"
    return ""


def named(place: str, known: dict[str, str], noun: str) -> Any:
    """What a name stands for: one that is known, or module:name."""
    target = known.get(place, place)
    module, colon, name = target.partition(":")
    if not colon:
        raise ValueError(
            f"there is no {noun} {quoted(place)}; there are {', '.join(sorted(known))}, or name yours as module:name"
        )
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name and module.startswith(error.name):
            raise ValueError(f"{noun} {quoted(place)}: there is no module {quoted(module)}") from None
        raise
    except AttributeError:
        raise ValueError(f"{noun} {quoted(place)}: module {module} has no {quoted(name)}") from None
