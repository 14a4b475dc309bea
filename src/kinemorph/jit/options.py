"""How every kernel is compiled."""

from __future__ import annotations

from typing import Any

from kinemorph.jit.compiler.numba_names import without_c_wrapper, without_memory

OPTIONS: dict[str, Any] = {
    **without_memory,  # kernels write into arrays that they are given: no memory to manage, no references to count
    "error_model": "numpy",  # x / 0 is inf, as in NumPy: no branch and no exception in every division
    "boundscheck": None,  # None leaves the choice to NUMBA_BOUNDSCHECK
    "fastmath": False,  # not even fused multiply-adds: LLVM fuses other pairs in lanes than in scalars, to other bits
}


def options_of(kernel: Any) -> dict[str, Any]:
    """How a `Kernel` is compiled, as Python calls it."""
    return {"nopython": True} | OPTIONS | kernel.options | without_c_wrapper
