"""Where kinemorph keeps what it can make again."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """Where kinemorph keeps what it can make again: $KINEMORPH_CACHE_DIR, or the system's usual place."""
    if chosen := os.environ.get("KINEMORPH_CACHE_DIR"):
        return Path(chosen).expanduser().absolute()
    if caches := os.environ.get("XDG_CACHE_HOME"):
        return Path(caches, "kinemorph").absolute()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local", "kinemorph", "cache")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "kinemorph"
    return Path.home() / ".cache" / "kinemorph"
