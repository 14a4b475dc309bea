"""From settings to a run: the problem, the search, the evaluator and the file of the run."""

from __future__ import annotations

import contextlib
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from kinemorph._files import FileError, quoted
from kinemorph._toml import Where, checked, refuse_unknown
from kinemorph.creatures.tasks import Task
from kinemorph.evolve.evaluators.evaluator import Evaluator, Serial
from kinemorph.evolve.initial import initial_genotypes
from kinemorph.evolve.problem import Problem
from kinemorph.evolve.run import Progress, Run
from kinemorph.evolve.searches.search import Planned, Search
from kinemorph.evolve.settings import Settings, kind_of_search
from kinemorph.evolve.store.run_store import Store, StoreError
from kinemorph.evolve.store.source_hash import hash_of_sources
from kinemorph.evolve.trust import Trust, resolve_own_class, trusted
from kinemorph.spatial.arguments.annotated import checked_first

NEEDED = ("name", "descriptors", "advice", "founder", "mutate", "viable", "evaluate", "warm")  # whatever the search


def problem_of(settings: Settings, at: Where | None = None, trust: Trust = ()) -> Problem:
    """The problem that the settings name: a task of creatures, or one of the user's own.

    `at` says where places of the settings are in the file that they are from; `trust` are classes, and modules by their
    names or files, in which a task of one's own is looked up.
    """
    from kinemorph.evolve import creature_problem

    where = _places(at, "of_task", settings.task)
    if ":" not in settings.task:
        if settings.task in creature_problem.KINDS:
            return creature_problem.creatures(settings.of_task, settings.task, settings.search, where=where)
        raise ValueError(
            f"{_said_of(at, 'task')}there is no task {quoted(settings.task)}; there are"
            f" {', '.join(creature_problem.KINDS)}, or name a problem of your own as module:name"
        )
    with _said_before(at, "task"):
        found = resolve_own_class(settings.task, "task", trust)
    problem = _own(found, settings, where)
    for name in NEEDED:
        if not hasattr(problem, name):
            raise ValueError(
                f"{_said_of(at, 'task')}task {quoted(settings.task)}: it has no {name}, which problems need"
            )
    return problem


def _own(found: Any, settings: Settings, where: Where) -> Problem:
    """The problem of a user's class: a task for creatures, a problem, or a class of problems with settings."""
    from kinemorph.evolve import creature_problem

    if not isinstance(found, type):
        return cast(Problem, found)
    if issubclass(found, Task):
        return creature_problem.creatures(settings.of_task, settings.task, settings.search, found, where)
    if issubclass(found, msgspec.Struct) or is_dataclass(found):
        names = [field.name for field in fields(found)] if is_dataclass(found) else found.__struct_fields__
        refuse_unknown(names, settings.of_task, where)
        return cast(Problem, checked(found, settings.of_task, where))
    try:
        return cast(Problem, found(**settings.of_task))
    except TypeError as error:
        raise ValueError(f"{where('')}: {error}") from None


def search_of(
    settings: Settings, problem: Problem, at: Where | None = None, trust: Trust = (), initial: Sequence[str] = ()
) -> Search:  # fmt: skip
    """The search that the settings name, at its beginning; its first individuals have the `initial` genotypes."""
    search = _search_of(settings, problem, at, trust)
    if settings.initial:
        if not isinstance(search, Planned):
            text = f"search {quoted(settings.search)} takes no initial population, for it is no Planned"
            with _said_before(at, "initial"):
                raise ValueError(f"{text}; leave out initial")
        search.initial = initial
    return search


def _search_of(settings: Settings, problem: Problem, at: Where | None, trust: Trust) -> Search:
    with _said_before(at, "search"):
        kind: Callable[..., Search] = kind_of_search(settings.search, trust)
    for name in getattr(kind, "needs", ()):
        if not hasattr(problem, name):
            text = f"task {quoted(settings.task)}: it has no {name}, which search {quoted(settings.search)} needs"
            raise ValueError(f"{_said_of(at, 'task')}{text}")
    where = _places(at, "of_search", settings.search)
    table, known = problem.advice(settings.search) | settings.of_search, getattr(kind, "Settings", None)
    if known is None:
        refuse_unknown((), table, where)
        return kind(problem, settings.seed, settings.budget)
    of = checked(known, table, where)
    try:
        return kind(problem, settings.seed, settings.budget, of)
    except ValueError as error:
        raise ValueError(f"{where('')}: {error}") from None


def _places(at: Where | None, group: str, name: str) -> Where:
    """A function that names places in `of_task` or `of_search`."""
    return lambda place: f"{_said_of(at, f'{group}.{place}'.strip('.'))}{group} of {name}"


def _said_of(at: Where | None, place: str) -> str:
    return f"{at(place)}: " if at else ""


@contextlib.contextmanager
def _said_before(at: Where | None, place: str) -> Iterator[None]:
    """Put the place in the file before the message of a ValueError."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{_said_of(at, place)}{error}") from None


def evaluator_of(settings: Settings, problem: Problem) -> Evaluator:
    """The evaluator that the settings name. The result does not depend on it."""
    workers = settings.workers or os.cpu_count() or 1
    if settings.evaluator == "serial":
        return Serial(problem)
    if settings.evaluator == "ray":
        from kinemorph.evolve.evaluators.on_ray import Ray

        return Ray(problem, settings.address, settings.workers, settings.limits)
    from kinemorph.evolve.evaluators.processes import Processes

    return Processes(problem, workers, settings.limits)


@checked_first
def begin(file: Path | str, settings: Settings, at: Where | None = None, trust: Trust = ()) -> Store:
    """A new store. Settings that are wrong, and Ray that is not there, are found before there is a file.

    A task or a search of one's own is a class in `trust`, or in a module that it names.
    """
    trust = trusted(trust)
    problem = problem_of(settings, at, trust)
    search = search_of(settings, problem, at, trust)
    if settings.evaluator == "ray":
        from kinemorph.evolve.evaluators.on_ray import import_ray

        import_ray(settings.address)
    initial = initial_genotypes(settings.initial, problem)
    more = {"initial": initial, "selects": getattr(search, "selects", "score")}
    return Store.create(file, facts(settings, problem, trust) | more, trust)


@checked_first
def resume(file: Path | str, trust: Trust = ()) -> tuple[Store, Settings]:
    """A store to go on with, if this code is what began it."""
    store = Store.open(file, write=True, trust=trust)
    try:
        settings, problem = settings_in(store), problem_in(store)
        with _said_before(lambda place: str(store.file), "search"):
            ours = facts(settings, problem, store.trust)
        for name, noun in (("code", "other code"), ("versions", "other versions")):
            theirs = store.fact(name, dict[str, str])
            if theirs != ours[name]:
                raise StoreError(
                    f"{store.file}: it was begun with {noun} ({_difference(theirs, ours[name])}), which would not give"
                    " the same creatures; go back to it, or begin a new run"
                )
    except BaseException:
        store.close()
        raise
    return store, settings


def settings_in(store: Store) -> Settings:
    """The settings of a run. The address of a cluster is left out: a cluster can run code here."""
    found: Settings = store.fact("settings", Settings)
    return replace(found, address=None)


def problem_in(store: Store) -> Problem:
    """The problem of a run: one of kinemorph's tasks, or a class that the store was opened to trust."""
    try:
        return problem_of(settings_in(store), lambda place: str(store.file), store.trust)
    except FileError:
        raise
    except ValueError as error:
        raise StoreError(str(error)) from None


@checked_first
def evolve(
    store: Store,
    settings: Settings,
    watch: Callable[[Progress], None] = lambda progress: None,
    evaluator: Evaluator | None = None,
) -> Progress:
    """Begin a run or go on with it, until the search ends."""
    problem = problem_of(settings, trust=store.trust)
    mine = evaluator or evaluator_of(settings, problem)
    try:
        search = search_of(settings, problem, trust=store.trust, initial=store.fact("initial", list[str], []))
        run = Run(search, mine, store, settings.seed, settings.monitor)
        run.go(watch)
    finally:
        if evaluator is None:
            mine.close()
    store.note("ended", True)
    return run.progress


def facts(settings: Settings, problem: Problem, trust: Trust = ()) -> dict[str, Any]:
    """The facts that a run is stored with: settings, source hashes, versions, processor."""
    modules = {type(problem).__module__, kind_of_search(settings.search, trust).__module__}
    if ":" in settings.task:
        modules.add(settings.task.partition(":")[0])  # of creatures, too: a task of the user's own
    return {
        "settings": msgspec.to_builtins(replace(settings, address=None)),
        "code": {name: hash_of_sources(name) for name in sorted(modules)},
        "versions": {
            "python": ".".join(map(str, sys.version_info[:2])),
            **{name: version(name) for name in ("numpy", "numba")},
        },
        "processor": platform.processor() or platform.machine(),
    }


def _difference(theirs: dict[str, str], ours: dict[str, str]) -> str:
    return ", ".join(
        f"{name} {theirs.get(name)}, now {ours.get(name)}"
        for name in sorted(theirs.keys() | ours.keys())
        if theirs.get(name) != ours.get(name)
    )
