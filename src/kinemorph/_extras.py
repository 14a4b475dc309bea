"""Packages that come with extras: imported when they are first needed, or one sentence that says how to get them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

# Step recorders that come with the package, and their modules, imported when a snapshot or a journal names one.
RECORDER_MODULES = {"episode statistics": "kinemorph.creatures.episodes.recorder"}


class MissingExtraError(ImportError):
    """A package that is not installed: what needs it, and the line that installs it."""


def require_module(module: str, extra: str, what: str) -> Any:
    """A module of a package that `kinemorph[extra]` brings; `what` needs it, in the plural."""
    try:
        return import_module(module)
    except ImportError as error:
        if error.name is None or not module.startswith(error.name.partition(".")[0]):
            raise  # it is there, and broken
        package = module.partition(".")[0]
        raise MissingExtraError(f"{what} need {package}: pip install 'kinemorph[{extra}]'") from None


def require_view_extra(what: str) -> None:
    """Whatever leaves pictures and replays asks for their packages before it computes, not after."""
    for module in ("matplotlib", "viser"):
        require_module(module, "view", what)


def in_notebooks(kind: str) -> Callable[[Any], str]:
    """The method by which a notebook shows an object: `view.notebook` has it, and is imported when one asks."""

    def _repr_html_(self: Any) -> str:
        """HTML for a notebook."""
        words: str = getattr(import_module("kinemorph.view.notebook"), f"{kind}_html")(self)
        return words

    return _repr_html_
