"""The factor L of M = Lᵀ L with branch-induced sparsity (Featherstone 2008, section 6.5)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.multibody.checks import Array, Matrix, as_arrays, check_model
from kinemorph.multibody.layout import TREE, dofs_of
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.arguments.checks import as_floats
from kinemorph.spatial.scalar import sqrt


@kernel(inline=False)
def factor_in_place(dofs: Any, L: Any) -> bool:
    """Turn the lower triangle of M into L. False if M is not positive definite."""
    for k in range(dofs.shape[0] - 1, -1, -1):
        if not L[k, k] > 0.0:
            return False
        L[k, k] = sqrt(L[k, k])
        i = dofs[k]["parent"]
        while i >= 0:
            L[k, i] = L[k, i] / L[k, k]
            i = dofs[i]["parent"]
        i = dofs[k]["parent"]
        while i >= 0:
            j = i
            while j >= 0:
                L[i, j] -= L[k, i] * L[k, j]
                j = dofs[j]["parent"]
            i = dofs[i]["parent"]
    return True


@kernel(inline=False)
def solve_in_place(dofs: Any, L: Any, x: Any) -> None:
    """x ← M⁻¹ x: first L⁻ᵀ from the leaves, then L⁻¹ from the base."""
    for k in range(dofs.shape[0] - 1, -1, -1):
        x[k] = x[k] / L[k, k]
        i = dofs[k]["parent"]
        while i >= 0:
            x[i] -= L[k, i] * x[k]
            i = dofs[i]["parent"]
    for k in range(dofs.shape[0]):
        i = dofs[k]["parent"]
        while i >= 0:
            x[k] -= L[k, i] * x[i]
            i = dofs[i]["parent"]
        x[k] = x[k] / L[k, k]


@entry
def _factor(address: int, L: Matrix) -> bool:
    tree = rows_at(address, 1, TREE)[0]
    return factor_in_place(dofs_of(tree), L)


@entry
def _solve(address: int, L: Matrix, X: Matrix) -> None:
    tree = rows_at(address, 1, TREE)[0]
    for c in range(X.shape[0]):
        solve_in_place(dofs_of(tree), L, X[c])


@checked_on_failure
def ltl(model: Model, M: npt.ArrayLike) -> Array:
    """The lower triangular L with M = Lᵀ L, for a mass matrix M of this model."""
    check_model(model)
    given = as_floats(M)
    if given.shape != (model.nv, model.nv):
        raise ValueError(f"model {model.name!r}: M has shape {given.shape}, expected {(model.nv, model.nv)}")
    L = np.tril(given)
    if not _factor(model.address, L):
        raise ValueError(f"model {model.name!r}: M is not positive definite; a joint may move no mass")
    return L


@checked_on_failure
def ltl_solve(model: Model, L: npt.ArrayLike, b: npt.ArrayLike) -> Array:
    """x with Lᵀ L x = b; b may be a vector or a matrix with nv rows."""
    check_model(model)
    columns = np.array(as_floats(b).T, order="C", ndmin=2)
    (factor,) = as_arrays(model, L=L)
    if factor.shape != (model.nv, model.nv) or columns.shape[1] != model.nv:
        raise ValueError(
            f"model {model.name!r}: L has shape {factor.shape} and b {np.shape(b)}, expected {model.nv} rows each"
        )
    if not (np.isfinite(factor).all() and np.isfinite(columns).all()):
        raise ValueError(f"model {model.name!r}: L and b must be finite, but there is a nan or inf in them")
    if not np.diagonal(factor).all():
        raise ValueError(f"model {model.name!r}: L has a zero on its diagonal, so it is no factor of a mass matrix")
    _solve(model.address, factor, columns)
    return columns[0].copy() if np.ndim(b) == 1 else columns.T.copy()
