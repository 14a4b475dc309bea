"""Springs in joints.

A spring is slack at the model's `rest`. Its stretch is an angle or a distance from there; for rotations it is the
rotation vector φ from the rest's frame, for a free joint also the shift along the rest's axes. The energy is
½ Σ k stretch², and the force is its exact gradient: on rotations that is J(φ)⁻ᵀ k φ, which differs from k φ if the
three stiffnesses differ.
"""

from typing import Any

from kinemorph._jit import kernel, rows_at
from kinemorph.multibody.joints import FREE, SPHERICAL
from kinemorph.multibody.layout import DOF, LINK
from kinemorph.spatial.quaternion import conjugate, log, log_shift, multiply, rotate
from kinemorph.spatial.rows import get, load3_at, load4_at, put, store3_at
from kinemorph.spatial.vec3 import Vec3, sub


@kernel(inline=False)
def stretch(tree: Any, rest: Any, q: Any, out: Any) -> None:
    """How far each degree of freedom is from its rest."""
    links = rows_at(tree["links"], tree["n"], LINK)
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
def pull(tree: Any, rest: Any, q: Any, out: Any) -> None:
    """The joint forces that the springs resist with: minus the gradient of the elastic energy is minus this."""
    links = rows_at(tree["links"], tree["n"], LINK)
    dofs = rows_at(tree["dofs"], tree["nv"], DOF)
    stretch(tree, rest, q, out)
    for i in range(tree["n"]):
        l = links[i]
        iq = l["iq"]
        iv = l["iv"]
        if l["kind"] == SPHERICAL:
            phi = load3_at(out, iv)
            store3_at(out, iv, log_shift(phi, stiff(dofs, iv, phi)))  # log_shift is J⁻ᵀ
        elif l["kind"] == FREE:
            phi = load3_at(out, iv)
            f = stiff(dofs, iv + 3, load3_at(out, iv + 3))  # in the rest's axes; the joint's force is in the link's
            turned = multiply(conjugate(load4_at(q, iq + 3)), load4_at(rest, iq + 3))
            store3_at(out, iv, log_shift(phi, stiff(dofs, iv, phi)))
            store3_at(out, iv + 3, rotate(turned, f))
        else:
            for k in range(iv, iv + l["nv"]):
                put(out, k, dofs[k]["stiffness"] * get(out, k))


@kernel
def stiff(dofs: Any, k: int, x: Vec3) -> Vec3:
    return (dofs[k]["stiffness"] * x[0], dofs[k + 1]["stiffness"] * x[1], dofs[k + 2]["stiffness"] * x[2])
