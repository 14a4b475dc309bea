"""What `kinemorph doctor` looks at."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from kinemorph.jit import api
from kinemorph.jit.cache.source_hash import package_digest
from kinemorph.motion.rollout import rollout
from kinemorph.multibody.algorithms.aba import aba
from kinemorph.multibody.algorithms.crba import crba
from kinemorph.multibody.algorithms.rnea import rnea
from kinemorph.multibody.data import Data
from kinemorph.scenes.commands.known_tree import ACCELERATIONS, every_joint, state
from kinemorph.scenes.commands.warming import cold_exercises

NEEDED = ("kinemorph", "numba", "llvmlite", "numpy", "scipy", "msgspec", "tyro", "rich")
OPTIONAL = ("matplotlib", "viser", "pin", "mujoco-core", "coal", "example-robot-data")
CHECK_TOLERANCE = 1e-10


def run_checkup(tell: Callable[[object], None] | None = None) -> bool:
    """Print versions, machine, cache and what is cold; compare dynamics with stored numbers. Whether all is well.

    With `tell`, all of it goes there instead, as one value of plain parts.
    """
    found = {package: _version(package) for package in NEEDED + OPTIONAL}
    machine = {"processor": cpu_name(), "kernel pack": _pack(), "kernel cache": _cache(), "compiled": _compiled()}
    console = Console(highlight=False, quiet=tell is not None)
    table = Table(show_header=False, box=None)
    table.add_row("Python", platform.python_version())
    for package, number in found.items():
        absent = "not installed" if package in OPTIONAL else "[red]missing[/]"
        table.add_row(package, number + (_numba() if package == "numba" else "") if number else absent)
    for name, words in machine.items():
        table.add_row(name, words)
    console.print(table)
    start = time.perf_counter()
    errors = self_check()
    count = api.compile_count()
    seconds = time.perf_counter() - start
    console.print(f"self-check in {seconds:.1f} s ({count.compiled} kernels compiled, {count.loaded} loaded):")
    for name, error in errors.items():
        good = error < CHECK_TOLERANCE
        console.print(f"  {'[green]ok[/]  ' if good else '[red]BAD[/] '} {name}: {error:.1e}")
    well = all(error < CHECK_TOLERANCE for error in errors.values())
    if tell is not None:
        plain = {name: Text.from_markup(words).plain for name, words in machine.items()}
        tell({"well": well, "python": platform.python_version(), "packages": found, **plain, "errors": errors})
    return well


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _numba() -> str:
    """What is to be said about this version of Numba."""
    if api.no_cache:
        return f" [red]({api.no_cache}: kernels are compiled in every process)[/]"
    return " [yellow](not tested)[/]" if api.untested() else " (tested)"


def _pack() -> str:
    """Whether kernels come compiled with a package, and if not, why."""
    pack = api.installed_pack()
    if pack is None:
        return "not used: KINEMORPH_PACK is 0" if os.environ.get("KINEMORPH_PACK") == "0" else "not installed"
    fault, manifest = pack.check(), pack.manifest
    if fault or manifest is None:
        return f"{pack.folder}: [yellow]not used: {fault}[/]"
    other = "" if manifest.sources == package_digest() else "; made of other sources: what differs is compiled here"
    return f"{pack.folder}: {len(manifest.kernels)} kernels for {manifest.target[1]}{other}"


def _cache() -> str:
    """Where compiled kernels are, how much that is, and whether more can be kept."""
    reason = api.why_not_kept()
    count, size = api.cache_size()
    if reason:
        return f"[red]not used: {reason}[/]"
    return f"{api.kept_folder('kernels').parent}: {count} kernels, {size / 1e6:.0f} MB, writable"


def _compiled() -> str:
    """What was compiled by `kinemorph warm`, and what is cold."""
    left = cold_exercises()
    if not left:
        return "everything"
    usual = [name for name, exercise in left.items() if exercise.usual]
    seconds = sum(exercise.seconds for exercise in left.values())
    how = "kinemorph warm" if usual else "kinemorph warm --all"
    names = ", ".join(name.replace("_", " ") for name in left)
    return f"[yellow]cold: {names}[/] (about {seconds:.0f} s of one core: {how})"


def self_check() -> dict[str, float]:
    """Relative errors of the main algorithms on a tree with every kind of joint."""
    model = every_joint()
    data = Data(model)
    q, v, tau = state(model)
    expected = np.array(ACCELERATIONS)
    a = aba(model, data, q, v, tau)
    back = rnea(model, data, q, v, a)
    bias = rnea(model, data, q, v, np.zeros(model.nv))
    M = crba(model, data, q)
    path = rollout(model, data, q, np.zeros(model.nv), dt=1e-3, steps=2)
    return {
        "forward dynamics against the stored oracle": _relative(a, expected),
        "inverse dynamics of forward dynamics": _relative(back, tau),
        "mass matrix": _relative(M @ a + bias, tau),
        "integrator": 0.0 if np.isfinite(path.q).all() else np.inf,
    }


def _relative(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.abs(x - y).max() / np.abs(y).max())


def cpu_name() -> str:
    """The processor's name."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
