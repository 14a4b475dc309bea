"""Unit quaternions (w, x, y, z) as tuples: rotations of a child's vectors into its parent."""

import math
from typing import TypeAlias

from kinemorph._jit import kernel
from kinemorph.spatial.mat3 import Mat3
from kinemorph.spatial.vec3 import Scalar, Vec3

Quat: TypeAlias = tuple[Scalar, Scalar, Scalar, Scalar]


@kernel
def to_matrix(q: Quat) -> Mat3:
    w, x, y, z = q
    return (
        1.0 - 2.0 * (y * y + z * z),
        2.0 * (x * y - z * w),
        2.0 * (x * z + y * w),
        2.0 * (x * y + z * w),
        1.0 - 2.0 * (x * x + z * z),
        2.0 * (y * z - x * w),
        2.0 * (x * z - y * w),
        2.0 * (y * z + x * w),
        1.0 - 2.0 * (x * x + y * y),
    )
