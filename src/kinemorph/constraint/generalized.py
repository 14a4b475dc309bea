"""Generalized coordinates of closed chains, found automatically, and inverse dynamics in them (N&Y sections II, III-A).

Here the joints of the loops count as N&Y's virtual links do: θ_J are the velocities of the tree followed by those of
all loop joints, and a loop gives six rows: both sides have the same twist. Columns of degrees of freedom that depend on
others are found by elimination with complete pivoting, on rows and columns that are scaled to the size of one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kinemorph.constraint.dynamics import forward_dynamics, loop_forces
from kinemorph.constraint.loops import joint_frames, loop_errors
from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.multibody.algorithms.inversion import extract_position
from kinemorph.multibody.algorithms.joints import subspace_column
from kinemorph.multibody.algorithms.kinematics import place_links
from kinemorph.multibody.algorithms.rnea import rnea
from kinemorph.multibody.checks import Array, Matrix, Vector, check_data, checked_copies
from kinemorph.multibody.data import Data
from kinemorph.multibody.layout import DOF_DATA, TREE, dofs_of, link_data_of
from kinemorph.multibody.loop_layout import last_dof, system_loops_of
from kinemorph.multibody.model.model import Model
from kinemorph.multibody.system import system_of
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.arguments.checks import as_floats
from kinemorph.spatial.mat3 import mul, mul_vec, tmul_vec, transpose
from kinemorph.spatial.rows import load3, load3_at
from kinemorph.spatial.scalar import sqrt
from kinemorph.spatial.vec3 import add, cross, sub

KEEP_WEIGHT = 0.1  # pivot weight of kept coordinates: others are preferred as dependent ones, down to this share
LOOP_JOINT_WEIGHT = 10.0  # weight of the joints of loops, which are preferred as dependent ones

Dofs = Iterable[str | int]  # joints and loops by name, or degrees of freedom by index: the tree's, then the loops'


class Coordinates(NamedTuple):
    """Generalized coordinates at one configuration. Indices count the tree's degrees of freedom, then the loops'."""

    H: Array  # θ̇_S = H θ̇_G: velocities that depend on others (eq. 16)
    W: Array  # those of the tree: v = W θ̇_G (eq. 4)
    S: Array  # those that are actuated: θ̇_A = S θ̇_G (eq. 6)
    independent: tuple[int, ...]  # θ_G
    dependent: tuple[int, ...]  # θ_S
    J: Array  # J_C of all joints, six rows a loop: angular, then linear, world axes (eq. 11)

    @property
    def mobility(self) -> int:
        """N_F (eq. 13)."""
        return len(self.independent)


class Actuation(NamedTuple):
    """Forces of actuators that make a model with loops accelerate as given."""

    tau: Array  # of all joints of the trees, as v has them (nv): zero where there is no actuator
    tau_loops: Array  # of all joints of the loops
    efforts: Array  # the same by actuator, in the order of `actuated`
    internal: Array  # columns: efforts that move nothing, orthonormal
    residual: float  # largest generalized force that the actuators cannot give; 0 if they suffice
    coordinates: Coordinates


@kernel(inline=False)
def fill_twist_jacobian(tree: Any, q_loops: Any, J: Any) -> None:
    """J_C of all joints (eqs. 9 and 11): twist of link b less that of link a less that of the loop's joint."""
    nv = tree["nv"]
    rows = link_data_of(tree)
    dofs = dofs_of(tree)
    dof_rows = rows_at(tree["dof_rows"], nv, DOF_DATA)
    system = system_of(tree)
    loops = system_loops_of(system)
    for i in range(system["count"]):
        loop = loops[i]
        Ra, xa, Rb, x = joint_frames(loop, rows[loop["a"] + 1], rows[loop["b"] + 1])
        ka, kb = last_dof(tree, loop["a"]), last_dof(tree, loop["b"])
        while ka != kb:
            k = max(ka, kb)
            w = load3(dof_rows[k]["S"])
            u = add(load3_at(dof_rows[k]["S"], 3), cross(w, sub(x, load3(rows[dofs[k]["link"] + 1]["p"]))))
            sign = 1.0 if k == kb else -1.0
            for c in range(3):
                J[6 * i + c, k] = sign * w[c]
                J[6 * i + 3 + c, k] = sign * u[c]
            if k == kb:
                kb = dofs[k]["parent"]
            else:
                ka = dofs[k]["parent"]
        extract_position(loop, mul(transpose(Ra), Rb), tmul_vec(Ra, sub(x, xa)), q_loops)
        for j in range(loop["nv"]):
            w, u = subspace_column(loop, q_loops, j)
            w, u = mul_vec(Rb, w), mul_vec(Rb, u)
            for c in range(3):
                J[6 * i + c, nv + loop["iv"] + j] = -w[c]
                J[6 * i + 3 + c, nv + loop["iv"] + j] = -u[c]


@kernel(inline=False)
def equilibrate(J: Any, scales: Any) -> None:
    """Divide angular and linear rows of each loop, then columns, by their largest entry; keep the columns' factors."""
    for block in range(0, J.shape[0], 3):
        largest = 0.0
        for i in range(block, block + 3):
            for k in range(J.shape[1]):
                largest = max(largest, abs(J[i, k]))
        for i in range(block, block + 3):
            for k in range(J.shape[1]):
                J[i, k] = J[i, k] / largest if largest > 0.0 else 0.0
    for k in range(J.shape[1]):
        largest = 0.0
        for i in range(J.shape[0]):
            largest = max(largest, abs(J[i, k]))
        scales[k] = 1.0 / largest if largest > 0.0 else 1.0
        for i in range(J.shape[0]):
            J[i, k] *= scales[k]


@kernel(inline=False)
def eliminate_columns(J: Any, weights: Any, tolerance: float, row_of: Any) -> int:
    """Gauss-Jordan with complete pivoting, in place: dependent columns become unit vectors, the others - H (eq. 17).

    row_of[k] is the row of dependent column k, -1 for an independent one. A heavier column is sooner dependent.
    Returns the rank.
    """
    m, n = J.shape
    for k in range(n):
        row_of[k] = -1
    for rank in range(m):
        best = 0.0
        r = c = -1
        for i in range(rank, m):
            for k in range(n):
                if row_of[k] < 0 and abs(J[i, k]) > tolerance and abs(J[i, k]) * weights[k] > best:
                    best, r, c = abs(J[i, k]) * weights[k], i, k
        if r < 0:
            return rank
        pivot = J[r, c]
        for k in range(n):
            x = J[r, k] / pivot
            J[r, k] = J[rank, k]
            J[rank, k] = x
        for i in range(m):
            factor = J[i, c]
            if i != rank and factor != 0.0:
                for k in range(n):
                    J[i, k] -= factor * J[rank, k]
        row_of[c] = rank
    return m


@entry
def _generalized(
    address: int, q: Vector, q_loops: Vector, J: Matrix, forms: Matrix, weights: Vector, scales: Vector,
    row_of: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> int:  # fmt: skip
    tree = rows_at(address, 1, TREE)[0]
    place_links(tree, q)
    fill_twist_jacobian(tree, q_loops, J)
    for i in range(J.shape[0]):
        for k in range(J.shape[1]):
            forms[i, k] = J[i, k]
    equilibrate(forms, scales)
    return eliminate_columns(forms, weights, sqrt(system_of(tree)["dependence"]), row_of)


@checked_on_failure
def generalized(
    model: Model, data: Data, q: npt.ArrayLike, actuated: Dofs | None = None, keep: Dofs = ()
) -> Coordinates:
    """Generalized coordinates at a configuration with closed loops, and the matrices H, W and S of N&Y.

    `actuated` are the degrees of freedom with an actuator: all of the tree if not given. Coordinates in `keep`, such as
    those of the step before, stay coordinates as long as they are well conditioned.
    """
    check_data(model, data)
    loops = len(model.loop_rows)
    nv, n = model.nv, model.nv + model.loop_nv
    (q64,) = checked_copies(model, q=q)
    J, E = np.zeros((6 * loops, n)), np.zeros((6 * loops, n))
    weights, scales, row_of = np.ones(n), np.ones(n), np.full(n, -1)
    weights[nv:] = LOOP_JOINT_WEIGHT
    weights[dof_indices(model, keep)] = KEEP_WEIGHT
    rank = 0 if not loops else _generalized(data.address, q64, np.zeros(model.loop_nq), J, E, weights, scales, row_of)
    independent, dependent = np.flatnonzero(row_of < 0), np.flatnonzero(row_of >= 0)
    # the elimination was done on J diag(scales): back to the units of the joints
    H = -scales[dependent, None] * E[:rank][row_of[dependent]][:, independent] / scales[independent]
    every = np.zeros((n, len(independent)))
    every[dependent] = H
    every[independent] = np.eye(len(independent))
    S = every[:nv] if actuated is None else every[dof_indices(model, actuated)]
    return Coordinates(H, every[:nv], S, tuple(independent.tolist()), tuple(dependent.tolist()), J)


@checked_on_failure
def mobility(model: Model, data: Data, q: npt.ArrayLike) -> int:
    """Degrees of freedom N_F that the loops leave at a configuration (N&Y eq. 13)."""
    return generalized(model, data, q).mobility


@checked_on_failure
def inverse_dynamics(
    model: Model,
    data: Data,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    a: npt.ArrayLike,
    actuated: Dofs | None = None,
    weights: npt.ArrayLike | None = None,
    keep: Dofs = (),
) -> Actuation:
    """Forces of actuators for an acceleration that keeps the loops closed (N&Y section III-A).

    Where there are more actuators than degrees of freedom, the least forces: Σ weights tau² is smallest. `weights` is a
    positive number for each actuated degree of freedom, or a positive definite matrix: then tauᵀ weights tau is.
    Afterwards `data.wrenches` are the forces that the loops bear. Without loops, and with an actuator in every joint,
    tau is that of `rnea`.
    """
    check_data(model, data)
    nv = model.nv
    used = list(range(nv)) if actuated is None else dof_indices(model, actuated)
    if len(set(used)) < len(used):
        raise ValueError("actuated names a degree of freedom twice")
    coordinates = generalized(model, data, q, used, keep)
    S = coordinates.S
    tau_G = coordinates.W.T @ rnea(model, data, q, v, a)  # eq. 7
    root = _weight_root(np.ones(len(S)) if weights is None else weights, len(S))
    # eq. 8, Sᵀ tau = tau_G, by the singular values of Sᵀ root⁻¹: the least root tau
    U, sigma, Vt = np.linalg.svd(np.linalg.solve(root.T, S).T)
    rank = int((sigma > model.dependence * sigma.max(initial=0.0)).sum())
    tau = np.linalg.solve(root, Vt[:rank].T @ (U[:, :rank].T @ tau_G / sigma[:rank]))
    internal = np.linalg.qr(np.linalg.solve(root, Vt[rank:].T))[0]
    residual = float(np.abs(S.T @ tau - tau_G).max(initial=0.0))
    everywhere = np.zeros(nv + model.loop_nv)
    everywhere[used] = tau
    tau_tree, tau_loops = everywhere[:nv], everywhere[nv:]
    external = loop_actuation(model, data, q, tau_loops) if tau_loops.any() else np.zeros((model.n, 6))
    if model.m:
        forward_dynamics(model, data, q, v, tau_tree, external)  # for what the loops bear
    return Actuation(tau_tree, tau_loops, tau, internal, residual, coordinates)


def _weight_root(weights: npt.ArrayLike, count: int) -> Array:
    """An upper triangular matrix W with |W tau|² = the weighted sum of squares of the forces."""
    w = np.asarray(weights, dtype=np.float64)
    refusal = f"weights must be {count} positive numbers, one for each actuated degree of freedom, or a matrix of them"
    if w.shape == (count,) and np.isfinite(w).all() and (w > 0.0).all():
        return np.diag(np.sqrt(w))
    if (
        w.shape != (count, count)
        or not np.isfinite(w).all()
        or np.abs(w - w.T).max(initial=0.0) > 1e-9 * np.abs(w).max()
    ):
        raise ValueError(refusal)
    try:
        return np.asarray(np.linalg.cholesky(w).T, dtype=np.float64)
    except np.linalg.LinAlgError:
        raise ValueError(f"{refusal} that is positive definite") from None


@checked_on_failure
def loop_actuation(model: Model, data: Data, q: npt.ArrayLike, tau_loops: npt.ArrayLike) -> Array:
    """External forces on links that are equivalent to actuators in loop joints, for `forward_dynamics`."""
    J = generalized(model, data, q).J
    loop_errors(model, data, q)  # places the loops
    tau = as_floats(tau_loops)
    if tau.shape != (model.loop_nv,) or not np.isfinite(tau).all():
        raise ValueError(f"tau_loops must be {model.loop_nv} finite numbers, one for each velocity of a loop's joint")
    wrenches = np.zeros((len(model.loop_rows), 6))
    for i, loop in enumerate(model.loop_rows):
        columns = slice(int(loop["iv"]), int(loop["iv"] + loop["nv"]))
        S = -J[6 * i : 6 * i + 6, model.nv :][:, columns]
        wrenches[i] = S @ np.linalg.solve(S.T @ S, tau[columns])  # any wrench with Sᵀ F = tau; loops bear the rest
    return loop_forces(model, data, wrenches)


def dof_indices(model: Model, which: Dofs) -> list[int]:
    """Indices of degrees of freedom: the tree's, then the loops'. A name means all those of its joint."""
    found: list[int] = []
    for one in which:
        if isinstance(one, str) and one in model.loop_names:
            loop = model.loop_rows[model.loop(one)]
            found += range(model.nv + int(loop["iv"]), model.nv + int(loop["iv"] + loop["nv"]))
        elif isinstance(one, str):
            found += range(*model.v_slice(one).indices(model.nv))
        elif 0 <= one < model.nv + model.loop_nv:
            found.append(int(one))
        else:
            raise IndexError(f"there are degrees of freedom 0 to {model.nv + model.loop_nv - 1}, not {one}")
    return found
