"""Packages that only some searches and evaluators need."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def needed(module: str, extra: str) -> Any:
    """The module; if it is not installed, one sentence says how to get it."""
    try:
        return import_module(module)
    except ImportError:
        raise ModuleNotFoundError(
            f"this needs {module}, which is not installed: pip install 'kinemorph[{extra}]'", name=module
        ) from None
