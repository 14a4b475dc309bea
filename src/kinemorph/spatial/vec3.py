"""Vectors of three as tuples. Every function works for any scalar type that has + - * /."""

from typing import Any, TypeAlias

from kinemorph.jit.api import kernel
from kinemorph.spatial.fused import fma

Scalar: TypeAlias = Any  # float, or four floats in a SIMD register
Vec3: TypeAlias = tuple[Scalar, Scalar, Scalar]


@kernel
def add(a: Vec3, b: Vec3) -> Vec3:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@kernel
def sub(a: Vec3, b: Vec3) -> Vec3:
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@kernel
def neg(a: Vec3) -> Vec3:
    return (-a[0], -a[1], -a[2])


@kernel
def scale(a: Vec3, s: Scalar) -> Vec3:
    return (a[0] * s, a[1] * s, a[2] * s)


@kernel
def axpy(a: Vec3, s: Scalar, b: Vec3) -> Vec3:
    """a + s b"""
    return (fma(s, b[0], a[0]), fma(s, b[1], a[1]), fma(s, b[2], a[2]))


@kernel
def dot(a: Vec3, b: Vec3) -> Scalar:
    return fma(a[2], b[2], fma(a[1], b[1], a[0] * b[0]))


@kernel
def cross(a: Vec3, b: Vec3) -> Vec3:
    """a × b. Not fused, so that a × a is exactly zero and b × a exactly the opposite."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])
