"""Pinocchio's C++ compiled on this machine, as a peer: the headers come with its wheel, Eigen from Debian or PyPI."""

from __future__ import annotations

import functools
import shutil
import subprocess
import tempfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np
import numpy.typing as npt

NAME = "Pinocchio C++, built here"
SOURCE = Path(__file__).with_name("native_pinocchio.cpp")


def _prefix() -> Path | None:
    try:
        return Path(str(distribution("libpinocchio").locate_file("cmeel.prefix")))
    except PackageNotFoundError:
        return None


def _eigen() -> Path | None:
    prefix = _prefix()
    places = [Path("/usr/include/eigen3"), Path("/usr/local/include/eigen3")]
    places += [prefix / "include/eigen3"] if prefix else []
    return next((p for p in places if (p / "Eigen/Core").exists()), None)


def _compiler() -> str | None:
    return shutil.which("clang++") or shutil.which("g++")


def why_not() -> str:
    """What is missing, empty if nothing is."""
    if _compiler() is None:
        return "there is no clang++ or g++"
    if _prefix() is None:
        return "Pinocchio is not installed"
    if _eigen() is None:
        return "there are no Eigen headers (Debian: libeigen3-dev; PyPI: cmeel-eigen)"
    return ""


def available() -> bool:
    return not why_not()


@functools.cache
def _program() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="kinemorph-native-"))
    program = folder / "native_pinocchio"
    prefix = _prefix()
    command = [str(_compiler()), "-std=c++17", "-O3", "-march=native", "-DNDEBUG", "-w"]
    command += [f"-I{_eigen()}", f"-I{prefix}/include", str(SOURCE), "-o", str(program), f"-L{prefix}/lib"]
    command += ["-lpinocchio_default", "-lpinocchio_parsers", "-lurdfdom_model", f"-Wl,-rpath,{prefix}/lib"]
    print(f"compiling {SOURCE.name} with {command[0]} (a minute or two)", flush=True)
    subprocess.run(command, check=True)
    return program


def pinocchio_times(
    urdf: str, floating: bool, q: npt.NDArray[np.float64], v: npt.NDArray[np.float64], tau: npt.NDArray[np.float64]
) -> dict[str, float]:
    """µs of one aba, rnea and crba of the compiled program at a state in Pinocchio's order."""
    numbers = " ".join(repr(float(x)) for x in np.concatenate([q, v, tau]))
    done = subprocess.run(
        [str(_program()), urdf, "1" if floating else "0"], input=numbers, capture_output=True, text=True, check=True
    )
    return {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}
