"""The public names of the package: listed, sorted, present, and free of optional dependencies."""

import subprocess
import sys
from types import ModuleType

import pytest

import kinemorph

pytestmark = pytest.mark.quick

OPTIONAL = {
    "coal",
    "ezc3d",
    "gymnasium",
    "h5py",
    "matplotlib",
    "mujoco",
    "pinocchio",
    "ray",
    "ribs",
    "trimesh",
    "viser",
}


def test_public_names_are_sorted_and_unique():
    assert list(kinemorph.__all__) == sorted(set(kinemorph.__all__))


@pytest.mark.parametrize("name", kinemorph.__all__)
def test_public_name_exists(name):
    assert hasattr(kinemorph, name)


def test_public_names_are_shown_by_dir():
    # dir() is what completion in a shell shows, and it misses lazy names unless __dir__ adds them
    assert set(kinemorph.__all__) <= set(dir(kinemorph))


def test_every_name_without_underscore_is_listed():
    present = {
        name
        for name, value in vars(kinemorph).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    assert present <= set(kinemorph.__all__)


def test_every_name_that_has_a_place_is_public():
    assert set(kinemorph._WHERE) == set(kinemorph.__all__)


def test_a_name_that_is_not_there_is_refused():
    with pytest.raises(AttributeError, match="kinemorph has no 'levitate'"):
        kinemorph.levitate  # noqa: B018


def test_import_waits_for_nothing():
    code = "import sys, kinemorph; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    assert {"numpy", "numba", "scipy"}.isdisjoint(loaded.split())


def test_no_public_name_loads_an_optional_dependency():
    code = (
        "import sys, kinemorph as km; [getattr(km, name) for name in km.__all__]; "
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    assert OPTIONAL.isdisjoint(loaded.split())
