"""From grown parts to the rows of a model: a link for each degree of freedom, of which the last one is the part.

Every degree of freedom is a link of its own (Fontijne 4.3), about an axis through the same point; the links before the
last one have no mass, so joints have a little armature of their own: three axes that have come to lie in a plane would
else leave a direction without inertia.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinemorph.creatures.growth.grow import UPRIGHT
from kinemorph.creatures.growth.solids import centre_of
from kinemorph.jit.api import entry, kernel
from kinemorph.multibody.layout import MODEL_KIND, JointKind
from kinemorph.spatial.mat3 import Mat3, mul, skew
from kinemorph.spatial.rows import load3, load9, store3, store6, store9
from kinemorph.spatial.vec3 import Vec3
from kinemorph.structure.forest.memory import address_of

Numbers = np.ndarray[tuple[int], np.dtype[np.float64]]
Records = np.ndarray[tuple[int], np.dtype[np.void]]
REVOLUTE, FREE, FIXED = int(JointKind.REVOLUTE), int(JointKind.FREE), int(JointKind.FIXED)
STANDARD_GRAVITY = 9.81  # m/s²
LARGEST_STRENGTH_LENGTH = 2.0  # m, of what counts as length where strength is limited
X, Z = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)


@kernel
def cross_section(part: Any) -> float:
    """m², across the longest extent of a part."""
    h = part["half"]
    return 4.0 * h[0] * h[1] * h[2] / max(h[0], h[1], h[2])


@kernel(inline=False)
def share_strength(parts: Any, g: Any) -> None:
    """Torques by cross-section, the larger one of the two that a joint holds; in sum not more than the whole weighs."""
    mass, length, total = 0.0, 0.0, 0.0
    for i in range(parts.shape[0]):
        p = parts[i]
        h = p["half"]
        mass += p["mass"]
        length += 2.0 * max(h[0], h[1], h[2])
        if i > 0:
            p["strength"] = g["strength"] * max(cross_section(p), cross_section(parts[p["parent"]])) ** 1.5
            total += p["dof"] * p["strength"]
    most = g["whole_strength"] * mass * STANDARD_GRAVITY * min(length, LARGEST_STRENGTH_LENGTH)
    if total > most:
        for i in range(1, parts.shape[0]):
            parts[i]["strength"] *= most / total


@entry
def fill_model(
    nodes: Records, parts: Records, growth: Records, header: Records, links: Records, dofs: Records, bodies: Records,
    rest: Numbers,
) -> None:  # fmt: skip
    """Write LINK and DOF rows, parts in the order of a walk along the limbs, and where each part's link is.

    The others become what `multibody.Model` makes of them: a header, a body for each link, and joints at zero.
    """
    g = growth[0]
    share_strength(parts, g)
    fixed = g["fixed"] != 0
    begin_model(header[0], links, dofs, bodies, rest)
    begin_link(
        links[0], 0, -1, FIXED if fixed else FREE, 0, 0, load9(parts[0]["joint_R"]), load3(parts[0]["joint_p"]), Z
    )
    links[0]["nq"], links[0]["nv"] = (0, 0) if fixed else (7, 6)
    give_mass(links[0], parts[0])
    v = links[0]["nv"]
    for k in range(v):
        dofs[k]["link"], dofs[k]["parent"] = 0, k - 1
        dofs[k]["lower"], dofs[k]["upper"] = -np.inf, np.inf
        dofs[k]["velocity_limit"], dofs[k]["effort_limit"] = np.inf, np.inf
    parts[0]["link"] = 0
    q, l, i = links[0]["nq"], 1, 0
    while i >= 0:
        i = next_part(parts, i)
        if i < 0:
            return
        part = parts[i]
        above = parts[part["parent"]]["link"]
        for k in range(part["dof"]):
            R, p = load9(part["joint_R"]), load3(part["joint_p"])
            if k > 0:
                R, p = UPRIGHT, (0.0, 0.0, 0.0)
            axis = axis_of(nodes[part["node"]]["axes"][k], part["mirrored"])
            begin_link(links[l], l, above, REVOLUTE, q, v, R, p, axis)
            links[l]["nq"] = links[l]["nv"] = 1
            dof = dofs[v]
            dof["link"], dof["parent"] = l, links[above]["iv"] + links[above]["nv"] - 1
            dof["lower"], dof["upper"] = nodes[part["node"]]["limits"][k][0], nodes[part["node"]]["limits"][k][1]
            dof["velocity_limit"], dof["effort_limit"] = np.inf, part["strength"]
            dof["armature"], dof["damping"] = g["armature"] * part["strength"], g["damping"] * part["strength"]
            above, l, q, v = l, l + 1, q + 1, v + 1
        part["link"] = above
        give_mass(links[above], part)


@kernel(inline=False)
def begin_model(header: Any, links: Any, dofs: Any, bodies: Any, rest: Any) -> None:
    """Fill the header of a model, bodies that are their links, and the quaternion of a root that floats."""
    header["kind"], header["n"], header["nq"], header["nv"] = MODEL_KIND, len(links), len(rest), len(dofs)
    header["links"], header["dofs"] = address_of(links), address_of(dofs)
    for i in range(links.shape[0]):
        bodies[i]["link"] = i
        store9(bodies[i]["R"], UPRIGHT)
    if rest.shape[0] > dofs.shape[0]:
        rest[3] = 1.0


@kernel
def next_part(parts: Any, index: int) -> int:
    """The part after part i in depth-first order: its first child, else the next sibling of it or of an ancestor."""
    if parts[index]["first_child"] >= 0:
        return parts[index]["first_child"]
    while index >= 0:
        if parts[index]["next_child"] >= 0:
            return parts[index]["next_child"]
        index = parts[index]["parent"]
    return -1


@kernel
def axis_of(axis: Any, mirrored: int) -> Vec3:
    """An axis, or, as turns go the other way round in a mirror, minus its mirror image."""
    if mirrored != 0:
        return (-axis[0], axis[1], -axis[2])
    return (axis[0], axis[1], axis[2])


@kernel(inline=False)
def begin_link(link: Any, length: int, parent: int, kind: int, q: int, v: int, R: Mat3, p: Vec3, a: Vec3) -> None:
    """Where a link hangs and what moves it; `multibody.model.builder.fill_constants` makes the same of a joint."""
    link["parent"], link["kind"], link["iq"], link["iv"] = parent, kind, q, v
    link["body"] = link["joint"] = length
    store9(link["R"], R)
    store3(link["p"], p)
    store3(link["axis"], a)
    store3(link["axis2"], X)
    x, y, z = a
    across = (1.0 - x * x, -x * y, -x * z, -y * x, 1.0 - y * y, -y * z, -z * x, -z * y, 1.0 - z * z)
    store9(link["Rc"], mul(R, across))
    store9(link["Rs"], mul(R, skew(a)))


@kernel(inline=False)
def give_mass(link: Any, part: Any) -> None:
    """Mass, first and second moment of a part about the origin of its link, below its middle."""
    m, I = part["mass"], part["moments"]
    z = part["rise"] + centre_of(part["form"], load3(part["half"]))
    link["mass"] = m
    store3(link["h"], (0.0, 0.0, m * z))
    store6(link["I"], (I[0] + m * z * z, 0.0, 0.0, I[1] + m * z * z, 0.0, I[2]))
