"""Which units of machine code the usual programs call: how long a first call will take, and what is worth compiling
before it is asked for.

A world's step reaches every shape, joint and law of contact that there is, and calls a third of it.
`jit.cache.usual_kernels.txt` says which units the exercises of `kinemorph warm` and a few short programs call, in the
order of their first calls, and how many of these programs do. `python -m benchmarks.usual` writes it. It is no more
than a guess: what it does not know, or knows wrongly, is compiled when it is called.
"""

from __future__ import annotations

import functools
import heapq
from pathlib import Path
from typing import Any, NamedTuple

from kinemorph.jit.cache.keys import used_kernels

_LIST = Path(__file__).with_name("usual_kernels.txt")
_OURS = "kinemorph."
_LARGEST_SHARE = 0.7


class _Use(NamedTuple):
    place: int  # in the order of first calls
    programs: int


@functools.cache
def _uses() -> dict[str, _Use]:
    try:
        lines = _LIST.read_text("utf-8").splitlines()
        return {name: _Use(k, int(count)) for k, (name, count) in enumerate(map(str.split, lines))}
    except (OSError, ValueError):
        return {}


def name_of(kernel: Any) -> str:
    return f"{kernel.py_func.__module__}.{kernel.py_func.__qualname__}".removeprefix(_OURS)


def _share(kernel: Any, root: Any) -> float:
    """How likely a call of `root` calls `kernel`, too, if something on its way does."""
    asked = _uses().get(name_of(root))
    if asked is None or kernel.targetoptions.get("forceinline") or not kernel.py_func.__module__.startswith(_OURS):
        return 1.0
    known = _uses().get(name_of(kernel))
    return min(1.0, known.programs / asked.programs) if known else 0.0


def expected(root: Any) -> dict[Any, float]:
    """The kernels that a call of `root` needs, and how likely it does."""
    found, reached = {root: 1.0}, [(-1.0, 0, root)]
    while reached:
        likely, _, caller = heapq.heappop(reached)  # the likeliest first: what it calls cannot become likelier
        for callee in used_kernels(caller):
            if callee not in found and (share := min(-likely, _share(callee, root))) > 0.0:
                found[callee] = share
                heapq.heappush(reached, (-share, len(found), callee))
    return found


def next_after(root: Any) -> list[str]:
    """Kernels that most programs which call `root` call later, by name: those that so many call, or somewhat fewer."""
    asked = _uses().get(name_of(root))
    if asked is None:
        return []
    later = [(name, use) for name, use in _uses().items() if use.place > asked.place]
    return [_OURS + name for name, use in later if _LARGEST_SHARE * asked.programs <= use.programs <= asked.programs]


def place(kernel: Any) -> int:
    """When a unit is first called, as a number that grows; -1 if that is not known."""
    known = _uses().get(name_of(kernel))
    return known.place if known else -1
