"""What tests need that a machine may lack: programs, files, libraries."""

from __future__ import annotations

import os
import sys
from importlib import import_module, util
from types import ModuleType
from typing import NoReturn

import pytest

WHOLE = "KINEMORPH_WHOLE"  # environment: .ci/run says by it that nothing may be lacking

linux = pytest.mark.skipif(sys.platform != "linux", reason="processes have such limits and signals on Linux alone")


def lacking(message: str) -> NoReturn:
    """Skip a test, or a module of them; where nothing may be lacking, fail it."""
    if os.environ.get(WHOLE, "").lower() in ("", "0", "false"):
        pytest.skip(message, allow_module_level=True)
    pytest.fail(message)


def library(name: str) -> ModuleType:
    """A library of an extra, imported."""
    if util.find_spec(name) is None:
        lacking(f"{name} is not installed")
    return import_module(name)
