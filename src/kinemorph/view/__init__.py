"""Looking at it: the live viewer, pictures, plots, recordings, films of worlds, replays.

The folder has the name of what it does most: `km.view(world)` shows a world in a browser. A module can be called if its
class says so.
"""

import sys as _sys
from types import ModuleType as _ModuleType
from typing import Any as _Any


class _Callable(_ModuleType):
    def __call__(self, world: _Any, **options: _Any) -> None:
        """Show a world in a browser and let it run: see `kinemorph.view.live.viewer.view`."""
        from kinemorph.view.live.viewer import view

        view(world, **options)


_sys.modules[__name__].__class__ = _Callable
