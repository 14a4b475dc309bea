"""Growth: from a graph of nodes and connections to parts, breadth first from the first node (Fontijne 4.2).

A part is made of a node and of the connection that led to it. Reflection and scale accumulate on the way. A ray along
the connection's direction finds where on the parent it sits; the normal there is z of its joint, about which it is
turned; and it just touches the parent. A mirrored part is made like its image, and then mirrored.
"""

from __future__ import annotations

import contextlib
import struct
from functools import lru_cache
from typing import Any

import numpy as np

from kinemorph.creatures.genotype.genotype import Genotype
from kinemorph.creatures.growth.layout import CONNECTION, GROWTH, NODE, PART
from kinemorph.creatures.growth.solids import FORMS, frame_on, half_extents, moments_of, surface, volume_of
from kinemorph.creatures.settings import DEFAULT, Counting, Root, Settings
from kinemorph.jit.api import entry, kernel
from kinemorph.multibody.tables import in_one_piece
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.mat3 import Mat3, mul, mul_vec
from kinemorph.spatial.rows import load3, load9, store3, store9
from kinemorph.spatial.vec3 import Vec3, add, axpy, dot

Records = np.ndarray[tuple[int], np.dtype[np.void]]
Integers = np.ndarray[tuple[int], np.dtype[np.int64]]
Numbers = np.ndarray[tuple[int, int], np.dtype[np.float64]]
INTEGER, NUMBER = np.dtype(np.int64), np.dtype(np.float64)
UPRIGHT = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
PACKED_NODE, PACKED_CONNECTION = struct.Struct("3i4x18d").pack, struct.Struct("4i5d").pack
COUNT = len(FORMS)
FORM_NUMBER = {form: k for k, form in enumerate(FORMS)}


@checked_first
def grow(genotype: Genotype, settings: Settings = DEFAULT) -> Records:
    """The parts of a creature as PART rows (`layout.py`), each after the one that carries it."""
    return grow_from_genotype(genotype, settings)[1]


def grow_from_genotype(genotype: Genotype, settings: Settings) -> tuple[Records, Records, Numbers]:
    """The nodes of a genotype as kernels read them, the parts that grow from them, and room for the corners of the box
    around these; it must be valid."""
    count = 0
    with contextlib.suppress(AttributeError, KeyError, TypeError, ValueError, OverflowError, struct.error):
        nodes, connections = _rows(genotype)
        most = settings.most_parts
        (parts, uses, bounds), _ = in_one_piece((most, PART), (len(nodes), INTEGER), ((2, 3), NUMBER))
        count = grow_parts(nodes, connections, parts, uses, growth_row(settings))
    if not count:
        genotype.checked()  # says what is wrong
        raise ValueError(f"genotype {genotype!r} cannot grow")
    return nodes, parts[:count], bounds


def _rows(genotype: Genotype) -> tuple[Records, Records]:
    nodes = [
        PACKED_NODE(FORM_NUMBER[n.form], n.dof, n.replication, *n.size, *a, *b, *c, *x, *y, *z)
        for n, (a, b, c), (x, y, z) in [(n, n.axes, n.limits) for n in genotype.nodes]
    ]
    connections = [
        PACKED_CONNECTION(c.parent, c.child, c.reflected, c.terminal, *c.direction, c.turn, c.scale)
        for c in genotype.connections
    ]
    return rows_of(nodes, NODE), rows_of(connections, CONNECTION)


def rows_of(packed: list[bytes], dtype: Any) -> Records:
    """Rows from their bytes: NumPy would take three times as long to look at the fields of tuples."""
    return np.ndarray(len(packed), dtype, bytearray(b"".join(packed)))


@lru_cache(maxsize=64)
def growth_row(s: Settings) -> Records:
    """Settings as kernels read them."""
    row = np.zeros(1, GROWTH)
    row[0] = (
        s.counting is Counting.CYCLES, s.most_depth, *s.part_scale, s.density, s.strength, s.whole_strength,
        s.joint_damping, s.joint_armature, s.root is Root.FIXED, s.least_parts, s.least_half, s.overlap, s.extent,
    )  # fmt: skip
    row.flags.writeable = False
    return row


@kernel
def mirrored3(v: Vec3) -> Vec3:
    """A vector, seen in a mirror across y."""
    return (v[0], -v[1], v[2])


@kernel
def mirrored9(A: Mat3) -> Mat3:
    """M A M with M = diag(1, -1, 1): a rotation, seen in a mirror across y."""
    return (A[0], -A[1], A[2], -A[3], A[4], -A[5], A[6], -A[7], A[8])


@entry
def grow_parts(nodes: Records, connections: Records, parts: Records, uses: Integers, growth: Records) -> int:
    """Fill PART rows, as many as there is room for, and count them; 0 if the graph is not sound."""
    g = growth[0]
    if not are_sound(nodes, connections) or parts.shape[0] == 0:
        return 0
    parts[0]["connection"] = parts[0]["parent"] = parts[0]["first_child"] = parts[0]["next_child"] = -1
    parts[0]["repeats"], parts[0]["scale"] = 1, 1.0
    store9(parts[0]["joint_R"], UPRIGHT)
    store9(parts[0]["R"], UPRIGHT)
    make_solid(parts[0], nodes[0], g["density"])
    uses[0] = 1
    count = 1
    i = 0
    while i < count:
        parent = parts[i]
        last = -1
        at_limit = is_used_up(nodes, parent["node"], parent["repeats"], uses, g["by_cycles"])
        for k in range(connections.shape[0]):
            c = connections[k]
            wanted = c["parent"] == parent["node"] and (c["terminal"] == 0 or at_limit)
            if not wanted or count == parts.shape[0] or parent["depth"] == g["most_depth"]:
                continue
            repeats = 1 + repeats_above(parts, i, c["child"])
            if is_used_up(nodes, c["child"], repeats - 1, uses, g["by_cycles"]):
                continue
            uses[c["child"]] += 1
            child = parts[count]
            child["node"], child["connection"], child["parent"], child["repeats"] = c["child"], k, i, repeats
            attach(parent, child, c, nodes[c["child"]], g)
            if last < 0:
                parent["first_child"] = count
            else:
                parts[last]["next_child"] = count
            last = count
            count += 1
        i += 1
    return count


@kernel(inline=False)
def are_sound(nodes: Any, connections: Any) -> bool:
    """Whether kernels can go by these numbers: those of files are, but a genotype may be made by hand."""
    total = 0.0  # NaN and infinity stay what they are in sums
    for i in range(nodes.shape[0]):
        n = nodes[i]
        if not (0 <= n["form"] < COUNT and 1 <= n["dof"] <= 3 and n["replication"] >= 1):
            return False
        for k in range(3):
            if not n["size"][k] > 0.0:
                return False
            total += n["size"][k] + n["limits"][k][0] + n["limits"][k][1]
            total += n["axes"][k][0] + n["axes"][k][1] + n["axes"][k][2]
    for i in range(connections.shape[0]):
        c = connections[i]
        if not (0 <= c["parent"] < nodes.shape[0] and 0 <= c["child"] < nodes.shape[0] and c["scale"] > 0.0):
            return False
        d = load3(c["direction"])
        if not dot(d, d) > 0.5:
            return False
        total += c["turn"] + c["scale"] + dot(d, d)
    return nodes.shape[0] > 0 and total - total == 0.0


@kernel
def is_used_up(nodes: Any, node: int, repeats: int, uses: Any, by_cycles: int) -> bool:
    """Whether a node's limit allows no further part, after so many on the way from the root."""
    return (repeats if by_cycles != 0 else uses[node]) >= nodes[node]["replication"]


@kernel
def repeats_above(parts: Any, index: int, node: int) -> int:
    """How many parts of a node there are from a part to the root."""
    count = 0
    while index >= 0:
        if parts[index]["node"] == node:
            count += 1
        index = parts[index]["parent"]
    return count


@kernel(inline=False)
def attach(parent: Any, child: Any, c: Any, node: Any, g: Any) -> None:
    """A new part on its parent: where its joint is, which way it looks, and how large it is."""
    child["depth"] = parent["depth"] + 1
    child["first_child"] = child["next_child"] = -1
    child["dof"] = node["dof"]
    child["mirrored"] = (parent["mirrored"] + c["reflected"]) % 2
    child["scale"] = min(max(parent["scale"] * c["scale"], g["least_scale"]), g["most_scale"])
    make_solid(child, node, g["density"])
    p, n = surface(parent["form"], load3(parent["half"]), load3(c["direction"]))
    R = frame_on(n, c["turn"])
    if child["mirrored"] != 0:
        p, R = mirrored3(p), mirrored9(R)
    at = (p[0], p[1], p[2] + parent["rise"])
    child["rise"] = child["half"][2]
    store9(child["joint_R"], R)
    store3(child["joint_p"], at)
    # the parent's frame is below its middle; so is the child's
    parent_R = load9(parent["R"])
    world_R = mul(parent_R, R)
    middle = axpy(p, child["half"][2], (R[2], R[5], R[8]))
    store9(child["R"], world_R)
    store3(child["p"], add(load3(parent["p"]), mul_vec(parent_R, middle)))


@kernel
def make_solid(part: Any, node: Any, density: float) -> None:
    """Fill the mass and the moments of inertia of a part."""
    s = part["scale"]
    size = node["size"]
    h = half_extents(node["form"], s * size[0], s * size[1], s * size[2])
    part["form"] = node["form"]
    store3(part["half"], h)
    part["mass"] = density * volume_of(node["form"], h)
    store3(part["moments"], moments_of(node["form"], h, part["mass"]))
