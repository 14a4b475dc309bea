"""The settings of a run: from a TOML file or the command, checked before anything is started."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import msgspec

from kinemorph._files import quoted
from kinemorph._toml import Toml, checked, merged
from kinemorph.evolve.evaluators.worker import Limits
from kinemorph.evolve.run import Monitor
from kinemorph.evolve.searches.search import Budget
from kinemorph.evolve.trust import Trust, resolve_own_class
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.annotations import check_fields

MOST_WORKERS = 4096  # a run that is resumed says how many there were
SEARCHES = {
    "default": "kinemorph.evolve.searches.default_search:Recipe",
    "map-elites": "kinemorph.evolve.searches.map_elites:MapElites",
    "random": "kinemorph.evolve.searches.random_search:Random",
    "sims": "kinemorph.evolve.searches.sims:Sims",
    "steady": "kinemorph.evolve.searches.steady:Steady",
    "thesis": "kinemorph.evolve.searches.thesis:Thesis",
}


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All that decides a run (down to `monitor`), and how it is computed."""

    task: str  # the name of a task, or module:name of a class that is trusted
    search: str = "default"  # one of `SEARCHES`, or module:name, likewise
    seed: int = 0
    budget: Budget = Budget()
    of_search: dict[str, Any] = {}  # what the search can be told: see its Settings
    of_task: dict[str, Any] = {}
    initial: tuple[str, ...] = ()  # files of genotypes, and runs: those that the first generation begins with
    monitor: Monitor = Monitor()
    evaluator: Literal["serial", "processes", "ray"] = "processes"
    workers: int | None = None  # by default one for each core
    address: str | None = None  # of a Ray cluster that is there already
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        check_fields(self)
        if self.seed < 0:
            raise ValueError(f"seed is {self.seed}, and must not be negative")
        if self.workers is not None and not 1 <= self.workers <= MOST_WORKERS:
            raise ValueError(
                f"workers is {self.workers}; at least one must do the work, and at most {MOST_WORKERS} can"
            )

    @property
    def deciding(self) -> dict[str, Any]:
        """The settings that the result depends on."""
        names = ("task", "search", "seed", "budget", "of_search", "of_task", "initial", "monitor")
        return {name: msgspec.to_builtins(getattr(self, name)) for name in names}


@checked_first
def load_settings(file: Path | str, changes: dict[str, Any] | None = None) -> Settings:
    """Read settings from a TOML file; `changes` come from the command and win. Files that it names are beside it."""
    toml = Toml(file)
    table = toml.table
    if "address" in table:
        raise toml.error("address", "a cluster can run code here; name it at the command, as --address")
    files = table.get("initial")
    if isinstance(files, list) and all(isinstance(one, str) for one in files):
        table = table | {"initial": [str(toml.file.parent / one) for one in files]}
    return checked(Settings, merged(table, changes or {}), toml.where)


def kind_of_search(name: str, trust: Trust = ()) -> Any:
    """The class of a search: one of kinemorph's by its name, or one that is trusted, by module:name."""
    if ":" in name:
        return resolve_own_class(name, "search", trust)
    if name not in SEARCHES:
        raise ValueError(
            f"there is no search {quoted(name)}; there are {', '.join(sorted(SEARCHES))}, or name yours as module:name"
        )
    module, _, kind = SEARCHES[name].partition(":")
    return getattr(import_module(module), kind)
