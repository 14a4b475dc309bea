"""Pinocchio's C++ compiled on this machine, as a peer: the headers come with its wheel, Eigen from Debian or PyPI."""

from __future__ import annotations

import functools
import shutil
import subprocess
import tempfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

NAME = "Pinocchio C++, built here"
DEFINITIONS = (  # what its own build files ask for
    "BOOST_MPL_LIMIT_LIST_SIZE=30",
    "BOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "BOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "BOOST_FUSION_INVOKE_MAX_ARITY=12",
)
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
    command += [
        "-DBOOST_MPL_LIMIT_LIST_SIZE=30",
        "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    ]  # for its 25 kinds of joint
    command += [f"-I{_eigen()}", f"-I{prefix}/include", str(SOURCE), "-o", str(program), f"-L{prefix}/lib"]
    command += ["-lpinocchio_default", f"-Wl,-rpath,{prefix}/lib"]
    print(f"compiling {SOURCE.name} with {command[0]} (two minutes or so)", flush=True)
    if subprocess.run(command, check=False).returncode:
        raise SystemExit(f"{command[0]} cannot compile {SOURCE.name} here; leave --native out")
    return program


def pinocchio_times(
    peer: Any, q: npt.NDArray[np.float64], v: npt.NDArray[np.float64], tau: npt.NDArray[np.float64]
) -> dict[str, float]:
    """µs of one aba, rnea and crba of the compiled program, for a Pinocchio model and a state in its order."""
    words = [str(peer.njoints - 1)]
    for i in range(1, peer.njoints):
        name = peer.joints[i].shortname().removeprefix("JointModel")
        axis = _AXES[name[-1]] if name[-1] in _AXES else getattr(peer.joints[i].extract(), "axis", np.zeros(3))
        place, body = peer.jointPlacements[i], peer.inertias[i]
        numbers = (axis, place.rotation, place.translation, body.mass, body.lever, body.inertia)
        words += [str(peer.parents[i]), name[0]]
        words += [repr(float(x)) for part in numbers for x in np.ravel(part)]
    words += [repr(float(x)) for x in np.concatenate([q, v, tau])]
    done = subprocess.run([str(_program())], input=" ".join(words), capture_output=True, text=True, check=True)
    return {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}


_AXES = {"X": np.array([1.0, 0.0, 0.0]), "Y": np.array([0.0, 1.0, 0.0]), "Z": np.array([0.0, 0.0, 1.0])}
