"""The rows that growth reads and writes, field by field.

The frame of a part is that of its link: at its joint, z away from the parent. Its solid sits on z, `rise` above it.
The frame of a mirrored part is mirrored too: what is said in it has y with the other sign.
"""

import numpy as np

NODE = np.dtype(
    [
        ("form", "i4"),  # place in the list of forms
        ("dof", "i4"),
        ("replication", "i4"),
        ("size", "f8", 3),  # m, half extents
        ("axes", "f8", (3, 3)),  # unit, joint frame
        ("limits", "f8", (3, 2)),  # rad
    ],
    align=True,
)

CONNECTION = np.dtype(
    [
        ("parent", "i4"),
        ("child", "i4"),
        ("reflected", "i4"),
        ("terminal", "i4"),
        ("direction", "f8", 3),  # unit, parent's frame
        ("turn", "f8"),  # rad
        ("scale", "f8"),
    ],
    align=True,
)

NEURON_GENE = np.dtype(
    [
        ("function", "i4"),  # Function
        ("kind", "i4", 3),  # of its inputs: place in the list of `From`,
        ("index", "i4", 3),
        ("child", "i4", 3),
        ("weights", "f8", 3),
    ],
    align=True,
)

WIRES = np.dtype(
    [
        ("first", "i4"),  # the genes of a node's neurons, and
        ("count", "i4"),  # how many there are
        ("kind", "i4", 3),  # of its effectors, as above
        ("index", "i4", 3),
        ("child", "i4", 3),
        ("weights", "f8", 3),
    ],
    align=True,
)

PART = np.dtype(
    [
        ("node", "i4"),
        ("connection", "i4"),  # that it comes from, -1 for the root
        ("parent", "i4"),  # part that carries it, -1 for the root
        ("depth", "i4"),  # joints from the root
        ("repeats", "i4"),  # parts of its node on the way from the root, itself included
        ("mirrored", "i4"),
        ("form", "i4"),
        ("dof", "i4"),  # of its joint; 0 for the root
        ("link", "i4"),  # of the model: the last one of its joint
        ("first_child", "i4"),  # part, -1 for none
        ("next_child", "i4"),  # of the same parent, -1 for none
        ("scale", "f8"),  # accumulated
        ("half", "f8", 3),  # m, half extents of the solid
        ("rise", "f8"),  # m, from the joint to the middle of the solid
        ("joint_R", "f8", 9),  # joint frame in the parent's frame
        ("joint_p", "f8", 3),  # m
        ("R", "f8", 9),  # axes of the solid in the root's frame, joints at zero
        ("p", "f8", 3),  # m, its middle there
        ("mass", "f8"),  # kg
        ("moments", "f8", 3),  # kg m², of inertia about its centre of mass, along its axes
        ("strength", "f8"),  # N m, of each degree of freedom of its joint
    ],
    align=True,
)

GROWTH = np.dtype(
    [
        ("by_cycles", "i4"),  # what a limit counts: 1 for cycles, 0 for uses
        ("most_depth", "i4"),
        ("least_scale", "f8"),
        ("most_scale", "f8"),
        ("density", "f8"),  # kg/m³
        ("strength", "f8"),  # N m / m³
        ("whole_strength", "f8"),  # weights times lengths
        ("damping", "f8"),  # s
        ("armature", "f8"),  # s²
        ("fixed", "i4"),  # whether the root does not move
        ("least_parts", "i4"),
        ("least_half", "f8"),  # m
        ("overlap", "f8"),  # share of the largest extent of the smaller part
        ("extent", "f8"),  # m
    ],
    align=True,
)
