"""Springs in joints.

A spring is slack at the model's `rest`. Its stretch is an angle or a distance from there; for rotations it is the
rotation vector φ from the rest's frame, for a free joint also the shift along the rest's axes. The energy is
½ Σ k stretch², and the force is its exact gradient: on rotations that is J(φ)⁻ᵀ k φ, which differs from k φ if the
three stiffnesses differ.
"""

from typing import Any

from kinemorph.jit.api import kernel
from kinemorph.multibody.algorithms.joints import FREE, SPHERICAL
from kinemorph.multibody.layout import dofs_of, links_of
from kinemorph.spatial.quaternion import conjugate, log, log_shift, multiply, rotate
from kinemorph.spatial.rows import get, load3_at, load4_at, put, store3_at
from kinemorph.spatial.vec3 import Scalar, Vec3, dot, sub

Quaternion = tuple[Scalar, Scalar, Scalar, Scalar]


@kernel(inline=False)
def fill_spring_stretch(tree: Any, rest: Any, q: Any, out: Any) -> None:
    """Stretch of each degree of freedom: its displacement from the rest position (rad or m)."""
    links = links_of(tree)
    for i in range(tree["n"]):
        l = links[i]
        iq = l["iq"]
        iv = l["iv"]
        if l["kind"] == SPHERICAL:
            store3_at(out, iv, log(multiply(conjugate(load4_at(rest, iq)), load4_at(q, iq))))
        elif l["kind"] == FREE:
            back = conjugate(load4_at(rest, iq + 3))
            store3_at(out, iv, log(multiply(back, load4_at(q, iq + 3))))
            store3_at(out, iv + 3, rotate(back, sub(load3_at(q, iq), load3_at(rest, iq))))
        else:
            for k in range(l["nv"]):
                put(out, iv + k, get(q, iq + k) - get(rest, iq + k))


@kernel(inline=False)
def fill_spring_forces(tree: Any, rest: Any, q: Any, out: Any) -> None:
    """Joint forces of the springs, with the opposite sign: the gradient of the elastic energy."""
    links = links_of(tree)
    dofs = dofs_of(tree)
    fill_spring_stretch(tree, rest, q, out)
    for i in range(tree["n"]):
        l = links[i]
        iq = l["iq"]
        iv = l["iv"]
        if l["kind"] == SPHERICAL:
            pulled, _ = spherical_spring_moment(load4_at(rest, iq), load4_at(q, iq), three_stiffnesses(dofs, iv))
            store3_at(out, iv, pulled)
        elif l["kind"] == FREE:
            back, x = load4_at(rest, iq + 3), load4_at(q, iq + 3)
            pulled, _ = spherical_spring_moment(back, x, three_stiffnesses(dofs, iv))
            store3_at(out, iv, pulled)
            pulled, _ = translation_spring_force(
                load3_at(rest, iq), back, load3_at(q, iq), x, three_stiffnesses(dofs, iv + 3)
            )
            store3_at(out, iv + 3, pulled)
        else:
            for k in range(iv, iv + l["nv"]):
                put(out, k, dofs[k]["stiffness"] * get(out, k))


@kernel
def three_stiffnesses(dofs: Any, index: int) -> Vec3:
    """Stiffnesses of three degrees of freedom."""
    return (dofs[index]["stiffness"], dofs[index + 1]["stiffness"], dofs[index + 2]["stiffness"])


@kernel
def multiply_componentwise(stiffness: Vec3, x: Vec3) -> Vec3:
    return (stiffness[0] * x[0], stiffness[1] * x[1], stiffness[2] * x[2])


@kernel
def spherical_spring_moment(rest: Quaternion, x: Quaternion, stiffness: Vec3) -> tuple[Vec3, Scalar]:
    """Restoring moment of the springs of a ball, with the opposite sign, link's frame, and their energy."""
    phi = log(multiply(conjugate(rest), x))
    bent = multiply_componentwise(stiffness, phi)
    return log_shift(phi, bent), 0.5 * dot(phi, bent)  # log_shift is J⁻ᵀ


@kernel
def translation_spring_force(
    p0: Vec3, rest: Quaternion, p: Vec3, x: Quaternion, stiffness: Vec3
) -> tuple[Vec3, Scalar]:
    """Restoring force of the springs along the rest's axes, with the opposite sign, link's frame, and their energy."""
    shift = rotate(conjugate(rest), sub(p, p0))
    f = multiply_componentwise(stiffness, shift)
    return rotate(multiply(conjugate(x), rest), f), 0.5 * dot(shift, f)
