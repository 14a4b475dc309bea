"""Products of rows with whitened velocities, yᵀ z, and impulses along rows, z ← z + y p, by SIMD lanes of four.

A slice of a tree may have any length. Two cases stay in registers, so that nothing is loaded twice. Contacts of two
free bodies, or of one with the ground, have twelve or six numbers in a row (`Twelve`). Most contacts of small jointed
trees with the ground or themselves, and the rows of their joints, have up to sixteen of one slice (`Sixteen`).
"""

from __future__ import annotations

from typing import Any, TypeAlias

from kinemorph.constraint.basis import slice_product, three_slice_products
from kinemorph.contact.islands import EQUAL_ROW_ENTRIES
from kinemorph.jit.api import kernel
from kinemorph.spatial.lanes.four import (
    fma,
    load_from,
    load_pair,
    load_pairs,
    splat,
    store_from,
    store_pair,
    store_pairs,
    sum_of,
)
from kinemorph.spatial.vec3 import Scalar

Twelve: TypeAlias = tuple[Scalar, Scalar, Scalar]  # four of the second slice, two of each, four of the first
Sixteen: TypeAlias = tuple[Scalar, Scalar, Scalar, Scalar]  # up to four times four of one slice, then zeros


# ----------------------------------------------------------------------------------------- one small tree, and no other


@kernel
def is_small(length: int) -> bool:
    """Whether a slice of l numbers fills one to four registers completely."""
    return 0 < length <= EQUAL_ROW_ENTRIES and length & 3 == 0


@kernel
def load_small(z: Any, offset: int, length: int) -> Sixteen:
    """Load a small slice of z, or a row. No loop is used, because LLVM would unroll eight turns of it."""
    none = splat(0.0)
    second = load_from(z, offset + 4) if length > 4 else none
    third = load_from(z, offset + 8) if length > 8 else none
    return load_from(z, offset), second, third, load_from(z, offset + 12) if length > 12 else none


@kernel
def store_small(z: Any, offset: int, length: int, x: Sixteen) -> None:
    """Store a small slice."""
    store_from(z, offset, x[0])
    if length > 4:
        store_from(z, offset + 4, x[1])
    if length > 8:
        store_from(z, offset + 8, x[2])
    if length > 12:
        store_from(z, offset + 12, x[3])


@kernel
def lane_products(y: Sixteen, x: Sixteen) -> Scalar:
    """Four numbers whose sum is yᵀ z."""
    return fma(y[0], x[0], y[1] * x[1]) + fma(y[2], x[2], y[3] * x[3])


@kernel
def dot_small(y: Sixteen, x: Sixteen) -> float:
    """yᵀ z."""
    return sum_of(lane_products(y, x))


@kernel
def add_small(x: Sixteen, y: Sixteen, p: float) -> Sixteen:
    """z + y p."""
    P = splat(p)
    return fma(y[0], P, x[0]), fma(y[1], P, x[1]), fma(y[2], P, x[2]), fma(y[3], P, x[3])


# --------------------------------------------------------------------------------------------- slices of any length


@kernel
def row_velocity(Y: Any, y: int, z: Any, offset: int, length: int) -> float:
    """yᵀ z."""
    if is_small(length):
        return dot_small(load_small(Y, y, length), load_small(z, offset, length))
    return slice_product(Y, y, z, offset, length)


@kernel
def contact_velocity(contact: Any, row: int, Y: Any, z: Any) -> float:
    """Relative velocity (m/s) of a contact along its normal (row 0, positive if parting) or a tangent (1, 2)."""
    y = contact["y"] + row * (contact["length1"] + contact["length2"])
    x = slice_product(Y, y + contact["length1"], z, contact["offset2"], contact["length2"])
    return x + slice_product(Y, y, z, contact["offset1"], contact["length1"]) if contact["length1"] > 0 else x


@kernel
def contact_velocities(contact: Any, Y: Any, z: Any) -> tuple[float, float, float]:
    """The same for all three rows."""
    stride = contact["length1"] + contact["length2"]
    a, b, c = contact["y"], contact["y"] + stride, contact["y"] + 2 * stride
    l1, offset, length = contact["length1"], contact["offset2"], contact["length2"]
    v, v1, v2 = three_slice_products(Y, a + l1, b + l1, c + l1, z, offset, length)
    if contact["length1"] == 0:
        return v, v1, v2
    u, u1, u2 = three_slice_products(Y, a, b, c, z, contact["offset1"], contact["length1"])
    return v + u, v1 + u1, v2 + u2


@kernel
def apply_row_impulse(Y: Any, y: int, z: Any, offset: int, length: int, p: float) -> None:
    """z ← z + y p."""
    if is_small(length):
        store_small(z, offset, length, add_small(load_small(z, offset, length), load_small(Y, y, length), p))
        return
    whole, P = length & ~3, splat(p)
    for k in range(0, whole, 4):
        store_from(z, offset + k, fma(load_from(Y, y + k), P, load_from(z, offset + k)))
    for k in range(whole, length):
        z[offset + k] = fma(Y[y + k], p, z[offset + k])


@kernel
def apply_three_impulses(
    Y: Any, y: int, stride: int, z: Any, offset: int, length: int, p: float, p1: float, p2: float
) -> None:
    """The same for three rows."""
    if is_small(length):
        x = add_small(load_small(z, offset, length), load_small(Y, y, length), p)
        x = add_small(add_small(x, load_small(Y, y + stride, length), p1), load_small(Y, y + 2 * stride, length), p2)
        store_small(z, offset, length, x)
        return
    y1, y2 = y + stride, y + 2 * stride
    whole, P, P1, P2 = length & ~3, splat(p), splat(p1), splat(p2)
    for k in range(0, whole, 4):
        x = fma(load_from(Y, y1 + k), P1, fma(load_from(Y, y + k), P, load_from(z, offset + k)))
        store_from(z, offset + k, fma(load_from(Y, y2 + k), P2, x))
    for k in range(whole, length):
        z[offset + k] = fma(Y[y2 + k], p2, fma(Y[y1 + k], p1, fma(Y[y + k], p, z[offset + k])))


@kernel
def apply_normal_impulse(contact: Any, Y: Any, z: Any, p: float) -> None:
    """Apply a normal impulse (N s) to z."""
    if contact["length1"] > 0:
        apply_row_impulse(Y, contact["y"], z, contact["offset1"], contact["length1"], p)
    apply_row_impulse(Y, contact["y"] + contact["length1"], z, contact["offset2"], contact["length2"], p)


@kernel
def apply_contact_impulses(contact: Any, Y: Any, z: Any, p: float, p1: float, p2: float) -> None:
    """Apply a normal and two tangential impulses (N s) to z."""
    stride = contact["length1"] + contact["length2"]
    if contact["length1"] > 0:
        apply_three_impulses(Y, contact["y"], stride, z, contact["offset1"], contact["length1"], p, p1, p2)
    apply_three_impulses(
        Y, contact["y"] + contact["length1"], stride, z, contact["offset2"], contact["length2"], p, p1, p2
    )


# ------------------------------------------------------------------------------------------------ one or two of six


@kernel
def fits_registers(contact: Any) -> bool:
    """Whether a contact has one or two slices of six numbers."""
    return contact["length2"] == 6 and (contact["length1"] == 6 or contact["length1"] == 0)


@kernel
def load_twelve(contact: Any, z: Any) -> Twelve:
    """Load the entries of z of a contact with one or two slices of six."""
    o1, o2 = contact["offset1"], contact["offset2"]
    if contact["length1"] == 0:
        return load_from(z, o2), load_pair(z, o2 + 4), splat(0.0)
    return load_from(z, o2), load_pairs(z, o2 + 4, o1 + 4), load_from(z, o1)


@kernel
def store_twelve(contact: Any, z: Any, x: Twelve) -> None:
    """Store them."""
    o1, o2 = contact["offset1"], contact["offset2"]
    if contact["length1"] == 0:
        store_from(z, o2, x[0])
        store_pair(z, o2 + 4, x[1])
    else:
        store_from(z, o2, x[0])
        store_pairs(z, o2 + 4, o1 + 4, x[1])
        store_from(z, o1, x[2])


@kernel
def load_row(contact: Any, row: int, Y: Any) -> Twelve:
    """Load one of the three rows of such a contact."""
    if contact["length1"] == 0:
        y = contact["y"] + 6 * row
        return load_from(Y, y), load_pair(Y, y + 4), splat(0.0)
    y = contact["y"] + 12 * row
    return load_from(Y, y + 6), load_pairs(Y, y + 10, y + 4), load_from(Y, y)


@kernel
def dot_twelve(y: Twelve, x: Twelve) -> float:
    """yᵀ z."""
    return sum_of(fma(y[2], x[2], fma(y[1], x[1], y[0] * x[0])))


@kernel
def add_twelve(x: Twelve, y: Twelve, p: float) -> Twelve:
    """z + y p."""
    P = splat(p)
    return fma(y[0], P, x[0]), fma(y[1], P, x[1]), fma(y[2], P, x[2])
