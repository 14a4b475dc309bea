"""What every test shares."""

import os
import signal
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import settings

# The same examples on every machine and in every run, and no deadline: a first call may compile a kernel.
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
# New examples each time, many more of them: pytest --hypothesis-profile=search
settings.register_profile("search", deadline=None, max_examples=2000, print_blob=True)
settings.load_profile("ci")

# Who starts the tests in the background of a shell has Ctrl-C ignored, and so would all processes that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header() -> str:
    flags = [f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith("NUMBA_")]
    return "numba flags: " + (" ".join(flags) or "none")


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers, the same in every run."""
    return np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _leaves_the_process_as_it_was() -> Iterator[None]:
    """A test that changes what later tests see fails (monkeypatch undoes its changes in time)."""
    before = _process_state()
    yield
    assert _process_state() == before


def _process_state() -> dict[str, object]:
    flags = {name: value for name, value in os.environ.items() if name.startswith(("KINEMORPH_", "NUMBA_"))}
    return {"environment": flags, "folder": os.getcwd(), "floating-point errors": np.geterr()}
