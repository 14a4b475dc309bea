"""Which code results depend on."""

from __future__ import annotations

import sys

from kinemorph.jit.cache.source_hash import module_key


def hash_of_sources(module: str) -> str:
    """A hash of a module and of all that it imports from its package and from ours."""
    file = getattr(sys.modules.get(module), "__file__", None)  # a notebook is in none
    return module_key(module, file)[:16] if file else "unknown"
