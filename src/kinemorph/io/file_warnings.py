"""Warnings about a file that can be loaded: one for each kind of fault, however often it occurs."""

from __future__ import annotations

import warnings

from kinemorph._files import ModelWarning, caller_level
from kinemorph._xml import Element

NAMED = 6  # further places that a warning names


class FileWarnings:
    """Collects oddities while a file is read. A strict reader refuses the first one instead."""

    def __init__(self, strict: bool) -> None:
        self.strict = strict
        self._found: dict[str, list[tuple[Element, str]]] = {}

    def add(self, kind: str, element: Element, message: str) -> None:
        if self.strict:
            raise element.error(f"{message} (refused because strict=True)")
        self._found.setdefault(kind, []).append((element, message))

    def issue(self) -> None:
        for (element, message), *others in self._found.values():
            text = element.says(message)
            if others:
                names = ", ".join(other.place for other, _ in others[:NAMED])
                text += f" (the same: {names}{f' and {len(others) - NAMED} more' if len(others) > NAMED else ''})"
            warnings.warn(text, ModelWarning, caller_level())
