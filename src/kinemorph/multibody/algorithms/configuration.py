"""Configurations: neutral and random ones, integration along v, and the difference of two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, cast, overload

import numpy as np
import numpy.typing as npt

from kinemorph.jit.api import entry, kernel, rows_at
from kinemorph.multibody.algorithms.joints import FREE, SPHERICAL
from kinemorph.multibody.checks import (
    BAD_SIZE,
    NOT_FINITE,
    OK,
    UNUSABLE,
    Array,
    Vector,
    as_arrays,
    check_model,
    checked_copies,
    finite,
    raise_for_status,
)
from kinemorph.multibody.layout import MODEL_KIND, TREE, JointKind, links_of
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.arguments.seeds import random_stream
from kinemorph.spatial.mat3 import tmul_vec
from kinemorph.spatial.quaternion import (
    conjugate,
    exp,
    exp_shift,
    log,
    log_shift,
    multiply,
    normalized,
    rotate,
    to_matrix,
)  # fmt: skip
from kinemorph.spatial.quaternion_arrays import exp_all
from kinemorph.spatial.rows import get, load3_at, load4_at, put, store3_at, store4_at
from kinemorph.spatial.vec3 import Scalar, add, scale, sub

ROTATION_DRAWS = 1000  # of a rotation that is to be within limits
QUATERNION_KINDS = int(JointKind.SPHERICAL), int(JointKind.FREE)  # joint kinds with a quaternion


@kernel(inline=False)
def advance_configuration(tree: Any, q: Any, v: Any, h: Scalar, out: Any) -> None:
    """out = q ⊕ h v: the exact motion of every joint at constant v (N&Y eq. 39 is its first order)."""
    links = links_of(tree)
    for i in range(tree["n"]):
        l = links[i]
        iq = l["iq"]
        iv = l["iv"]
        if l["kind"] == FREE:
            phi = scale(load3_at(v, iv), h)
            x = normalized(load4_at(q, iq + 3))
            shift = exp_shift(phi, scale(load3_at(v, iv + 3), h))
            store3_at(out, iq, add(load3_at(q, iq), rotate(x, shift)))
            store4_at(out, iq + 3, normalized(multiply(x, exp(phi))))
        elif l["kind"] == SPHERICAL:
            store4_at(out, iq, normalized(multiply(load4_at(q, iq), exp(scale(load3_at(v, iv), h)))))
        else:
            for k in range(l["nv"]):
                put(out, iq + k, get(q, iq + k) + get(v, iv + k) * h)


@kernel(inline=False)
def subtract_configurations(tree: Any, q0: Any, q1: Any, out: Any) -> None:
    """out = q1 ⊖ q0: the constant v that leads from q0 to q1 in unit time."""
    links = links_of(tree)
    for i in range(tree["n"]):
        l = links[i]
        iq = l["iq"]
        iv = l["iv"]
        if l["kind"] == FREE:
            x = normalized(load4_at(q0, iq + 3))
            phi = log(multiply(conjugate(x), normalized(load4_at(q1, iq + 3))))
            p = tmul_vec(to_matrix(x), sub(load3_at(q1, iq), load3_at(q0, iq)))
            store3_at(out, iv, phi)
            store3_at(out, iv + 3, log_shift(phi, p))
        elif l["kind"] == SPHERICAL:
            x = normalized(load4_at(q0, iq))
            store3_at(out, iv, log(multiply(conjugate(x), normalized(load4_at(q1, iq)))))
        else:
            for k in range(l["nv"]):
                put(out, iv + k, get(q1, iq + k) - get(q0, iq + k))


@entry
def _integrate(address: int, q: Vector, v: Vector, h: float, out: Vector) -> int:
    tree = rows_at(address, 1, TREE)[0]
    if tree["kind"] != MODEL_KIND:
        return UNUSABLE
    if q.shape[0] != tree["nq"] or v.shape[0] != tree["nv"]:
        return BAD_SIZE
    if not (finite(q) and finite(v)):
        return NOT_FINITE
    advance_configuration(tree, q, v, h, out)
    return OK if finite(out) else NOT_FINITE


@entry
def _difference(address: int, q0: Vector, q1: Vector, out: Vector) -> int:
    tree = rows_at(address, 1, TREE)[0]
    if tree["kind"] != MODEL_KIND:
        return UNUSABLE
    if q0.shape[0] != tree["nq"] or q1.shape[0] != tree["nq"]:
        return BAD_SIZE
    if not (finite(q0) and finite(q1)):
        return NOT_FINITE
    subtract_configurations(tree, q0, q1, out)
    return OK if finite(out) else NOT_FINITE


@checked_on_failure
def integrate(model: Model, q: npt.ArrayLike, v: npt.ArrayLike, h: float = 1.0) -> Array:
    """The configuration after moving from q with constant v for a time h."""
    check_model(model)
    out = np.empty(model.nq)
    try:
        status = _integrate(model.address, q, v, float(h), out)
    except (TypeError, ValueError):
        q64, v64 = as_arrays(model, q=q, v=v)
        status = _integrate(model.address, q64, v64, float(h), out)
    if status:
        raise_for_status(model, status, q=q, v=v, h=h)
    return out


@checked_on_failure
def difference(model: Model, q0: npt.ArrayLike, q1: npt.ArrayLike) -> Array:
    """The constant v that leads from q0 to q1 in unit time: integrate(q0, difference(q0, q1)) = q1."""
    check_model(model)
    out = np.empty(model.nv)
    try:
        status = _difference(model.address, q0, q1, out)
    except (TypeError, ValueError):
        q064, q164 = as_arrays(model, q0=q0, q1=q1)
        status = _difference(model.address, q064, q164, out)
    if status:
        raise_for_status(model, status, q0=q0, q1=q1)
    return out


@checked_on_failure
def neutral(model: Model) -> Array:
    """The configuration with every joint at zero."""
    check_model(model)
    q = np.zeros(model.nq)
    for i, kind in enumerate(model.kinds):
        if kind in QUATERNION_KINDS:
            l = model.links[i]
            q[l["iq"] + l["nq"] - 4] = 1.0
    return q


@checked_on_failure
def random_configuration(model: Model, rng: np.random.Generator | int | None = None) -> Array:
    """A configuration within the joints' limits; uniform, on rotations too.

    Where a joint has no limit, angles come from ±π and distances from ±1 m. A number as `rng` is a seed.
    """
    rng = random_stream("random_configuration: rng", rng)
    q = neutral(model)
    for i, l in enumerate(model.links):
        kind = JointKind(l["kind"])
        iq, nq = int(l["iq"]), int(l["nq"])
        dofs = model.dofs[model.v_slice(i)]
        if kind is JointKind.SPHERICAL and np.isfinite([dofs["lower"], dofs["upper"]]).any():
            q[iq : iq + nq] = exp_all(_rotation_vector_within(dofs["lower"], dofs["upper"], rng))
        elif kind in (JointKind.SPHERICAL, JointKind.FREE):
            x = rng.normal(size=4)
            q[iq + nq - 4 : iq + nq] = x / np.linalg.norm(x)
            if kind is JointKind.FREE:
                q[iq : iq + 3] = rng.uniform(-1.0, 1.0, 3)
        elif nq:
            reach = np.array([np.pi if angle else 1.0 for angle in _ANGLES[kind]])
            low = np.where(np.isfinite(dofs["lower"]), dofs["lower"], np.minimum(-reach, dofs["upper"] - 2.0 * reach))
            high = np.where(np.isfinite(dofs["upper"]), dofs["upper"], np.maximum(reach, dofs["lower"] + 2.0 * reach))
            low = np.where(np.isfinite(low), low, -reach)
            high = np.where(np.isfinite(high), high, reach)
            q[iq : iq + nq] = rng.uniform(low, high)
    return q


def _rotation_vector_within(lower: Array, upper: Array, rng: np.random.Generator) -> Array:
    """A random rotation within limits of the parts of its rotation vector φ: uniform, of density (sin(φ/2) / φ)²."""
    low, high = np.maximum(lower, -np.pi), np.minimum(upper, np.pi)
    for _ in range(ROTATION_DRAWS):
        turn = rng.uniform(low, high)
        share = np.linalg.norm(turn) / (2.0 * np.pi)
        if share < 0.5 and rng.random() < np.sinc(share) ** 2:
            return turn
    return np.clip(np.zeros(3), low, high)  # limits so far from zero that hardly any rotation is within


class _Follow(Protocol):
    @overload
    def __call__(self, model: Model, q: npt.ArrayLike) -> Array: ...
    @overload
    def __call__(self, model: Model, q: npt.ArrayLike, v: npt.ArrayLike) -> tuple[Array, Array]: ...


def _with_overloads(function: Callable[..., Any]) -> _Follow:
    return cast(_Follow, function)


@_with_overloads
@checked_on_failure
def follow(model: Model, q: npt.ArrayLike, v: npt.ArrayLike | None = None) -> Array | tuple[Array, Array]:
    """q, or q and v, with every mimic joint set from the joint it follows."""
    check_model(model)
    (out,) = checked_copies(model, q=q)
    for m in model.mimics:
        out[model.q_slice(m.joint)] = m.multiplier * out[model.q_slice(m.source)] + m.offset
    if v is None:
        return out
    (speeds,) = checked_copies(model, v=v)
    for m in model.mimics:
        speeds[model.v_slice(m.joint)] = m.multiplier * speeds[model.v_slice(m.source)]
    return out, speeds


_ANGLES = {  # which entries of q are angles
    JointKind.REVOLUTE: (True,), JointKind.PRISMATIC: (False,), JointKind.SCREW: (True,),
    JointKind.CYLINDRICAL: (True, False), JointKind.UNIVERSAL: (True, True), JointKind.PLANAR: (False, False, True),
}  # fmt: skip
