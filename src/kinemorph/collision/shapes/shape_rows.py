"""Layout of collision detection: rows of shapes, their poses, pairs, contacts and what is kept between steps.

Kernels get the address of one COLLISIONS row, which has the settings, the sizes and the addresses of all tables;
`Collisions` owns them. In tables, a shape is the number of its row; users hold an id, which contains the row's
generation as well. Results are in the world frame.
"""

from enum import IntEnum

import numpy as np

from kinemorph.collision.narrow.part_pairs import KNOWN_FEATURES
from kinemorph.jit.rows import table


class Form(IntEnum):
    """Kinds of shapes. The value is stored in rows."""

    NONE = 0  # the row is free
    CONVEX = 1  # a core and a radius
    TREE = 2  # convex parts in a tree of hulls
    GROUND = 3  # a half-space, a height field or a terrain


class PairQuery(IntEnum):
    """The result for each pair."""

    CONTACTS = 0  # contacts, if the shapes are no farther apart than the margin
    DISTANCE = 1  # the closest points, however far apart


class Candidates(IntEnum):
    """Which pairs of shapes are evaluated."""

    OVERLAPPING = 0  # those whose boxes overlap
    CLOSE = 1  # those whose boxes share a tile of the hash, or did a few updates ago
    ALL = 2  # all: there is no broad phase


SLOW, MEETS = -1.0, 0.0  # values of `passes`: the pair is not fast; the fast pair will meet
STATIC_CARRIER = -2  # carrier of a link that the base carries


SHAPE = np.dtype(
    [
        ("form", "i4"),  # Form
        ("generation", "i4"),  # number of earlier shapes in this row
        ("link", "i4"),  # the link that carries it; -1 the base. Shapes of one link form no pairs
        ("group", "u4"),  # bits: its groups
        ("mask", "u4"),  # bits: groups with which it forms pairs; the group of each must be in the mask of the other
        ("fixed", "i4"),  # 1 if it is on the base, or ground. Two fixed shapes form no pairs
        ("core", "i8"),  # convex: address of its CORE
        ("nodes", "i8"),  # convex or tree: address of its NODE rows, the root first
        ("n_nodes", "i4"),
        ("carrier", "i4"),  # the link that carries its link; the two form no pairs. STATIC_CARRIER for the base
        ("ground", "i8"),  # ground: address of its GROUND
        ("radius", "f8"),  # m, around the core; convex only
    ]
)  # a cache line: read by the narrow phase

MOUNT = np.dtype(
    [
        ("R", "f8", 9),  # rotation of a shape on its link
        ("p", "f8", 3),  # m, position on its link
        ("low", "f8", 3),  # m, corner of a box in its own frame, which holds it with so much around the box:
        ("high", "f8", 3),  # m, the opposite corner
        ("pad", "f8"),  # m, the radius of a convex shape; else 0
        ("reach", "f8"),  # m, of the ball about its own origin that holds it; inf for ground
    ]
)

SHAPES = np.dtype(
    [
        ("rows", "i8"),  # addresses of SHAPE rows,
        ("mounts", "i8"),  # of MOUNT rows,
        ("changed", "i8"),  # and of the revision in which each of them last changed
        ("room", "i8"),  # how many there are of each
    ]
)

POSE = np.dtype(
    [
        ("R", "f8", 9),  # rotation in the world
        ("p", "f8", 3),  # m, position in the world
    ]
)

SHAPE_POSE = np.dtype(
    [
        ("R", "f8", 9),  # rotation of a shape in the world; `place_shape`
        ("p", "f8", 3),  # m, position; `place_shape`
        ("sweep", "f8"),  # m, largest displacement of its points in the next step, added to its margin
        ("travel", "f8", 3),  # m, displacement of its origin in that step, at its velocity; two cache lines
    ]
)

PAIR = np.dtype(
    [
        ("a", "i4"),  # the two shapes: the ground first if one is ground, else the lower row first
        ("b", "i4"),
        ("row", "i4"),  # its row of PAIR_MEMORY
        ("exact", "i4"),  # 0 if hulls were not opened, and the distance is a lower bound
        ("first", "i4"),  # its contacts are rows first to first + count of the table of contacts
        ("count", "i4"),
        ("distance", "f8"),  # m: PairQuery.DISTANCE: of the two; CONTACTS: of the deepest contact, inf without one
    ],
    align=True,
)

CONTACT = np.dtype(
    [
        ("id", "i8"),  # features of the two shapes, see `manifold.contact_id`; -1 without, such as where cores overlap
        ("part1", "i4"),  # part of a tree, or -1 - node where hulls were not opened; triangle of the ground; else 0
        ("part2", "i4"),
        ("pair", "i4"),  # row of its PAIR
        ("before", "i4"),  # row of the same contact in the step before, -1 if it is new: for warm starts
        ("distance", "f8"),  # m, along the normal; negative: depth
        ("normal", "f8", 3),  # unit, world, from shape a to shape b
        ("x1", "f8", 3),  # m, world, on the surface of shape a
        ("x2", "f8", 3),  # m, world, on that of shape b: x2 - x1 = distance normal, if the two are not fast
        ("passes", "f8"),  # m, clearance of fast shapes that miss each other in this step; or MEETS, SLOW
        ("flies", "i8"),  # 1 if it is left to a later impact; `world.impulse.time_to_impact`
    ]
)

ANCHOR = np.dtype(
    [
        ("normal", "f8", 3),  # unit, in the frame of shape a, or of b if a is round: normal of a contact as it was made
        ("x1", "f8", 3),  # m, in the frame of shape a: x1 then, on the core
        ("x2", "f8", 3),  # m, in the frame of shape b: x2 then, on the core
    ]
)

PAIR_MEMORY = np.dtype(
    [
        ("a", "i4"),  # the stamp: rows and generations of the two shapes, and the life of the row in the hash.
        ("b", "i4"),  # The other fields belong to the pair with this stamp
        ("generation_a", "i4"),
        ("generation_b", "i4"),
        ("life", "i4"),
        ("rolls", "i4"),  # whether its contacts are on the rim or the side of a round shape: bits 1 of a, 2 of b
        ("step", "i8"),  # when the pair was last looked at; the rows below are those of that step
        (
            "start",
            KNOWN_FEATURES,
        ),  # where the next walk on the cores or hulls starts. Ground: index2 is the deepest vertex
        ("first", "i4"),  # its contacts
        ("count", "i4"),
        ("first_known", "i4"),  # trees, ground: its rows of KNOWN_FEATURES
        ("n_known", "i4"),
        ("distance", "f8"),  # m, lower bound of the distance when its contacts were made
        ("margin", "f8"),  # m, with which they were made
        ("struck", "f8"),  # N s, of its collisions in a step of the impulse model; two cache lines
    ]
)

CONTACT_POSE = np.dtype(
    [
        ("R", "f8", 9),  # rotation of b in the frame of a, when the contacts of a pair were made
        ("p", "f8", 3),  # m, position of b there
    ]
)

COLLISIONS = np.dtype(
    [
        ("kind", "i8"),  # COLLISIONS_KIND, checked by entries
        ("question", "i8"),  # Question
        ("candidates", "i8"),  # Candidates
        ("from_scratch", "i8"),  # 1 to build the hash anew at each step, to measure the benefit of coherence
        ("margin", "f8"),  # m, contacts are made of shapes that are no farther apart
        ("keep_within", "f8"),  # m, a pair that has moved by less since its contacts were made keeps them; 0: never
        ("threshold", "f8"),  # m, hulls of trees are opened for a distance below it
        ("max_contacts", "i8"),  # contacts of two convex shapes or parts, at most; on the ground of each direction
        ("n", "i8"),  # rows of shapes
        ("shapes", "i8"),  # addresses of the SHAPE rows, of
        ("mounts", "i8"),  # as many MOUNT rows, of
        ("places", "i8"),  # as many SHAPE_POSE rows, where the shapes are, and of
        ("boxes", "i8"),  # as many BOUNDS rows: boxes around them in the world, with their margins; `place_shape`
        ("hash", "i8"),  # address of the HASH of the broad phase, where the id of a box is the row of its shape
        ("room", "i8"),  # rows of pairs and of PAIR_MEMORY
        ("met", "i8"),  # address of LISTED_PAIR rows: candidate pairs, in the order of the lower and the higher row
        ("n_met", "i8"),
        ("lives", "i8"),  # address of an INDEX_ROW for each of PAIR_MEMORY: number of pairs that have used it
        ("pairs", "i8"),  # address of the PAIR rows of this step, in the same order
        ("n_pairs", "i8"),
        ("memory", "i8"),  # address of the PAIR_MEMORY rows, and of
        ("made", "i8"),  # as many CONTACT_POSE rows; used if contacts are kept
        ("contact_room", "i8"),  # rows of contacts in a step
        # With PairQuery.DISTANCE all steps have the first half of the next table, else even ones have the first and odd
        # ones the other.
        ("contacts", "i8"),  # address of twice as many CONTACT rows
        ("anchors", "i8"),  # address of as many ANCHOR rows; used if contacts are kept
        ("fresh", "i8"),  # addresses of the first CONTACT of this step, in one of the halves, and
        ("fresh_anchors", "i8"),  # of its ANCHOR; `find_contacts`
        ("n_contacts", "i8"),  # of this step
        ("known_room", "i8"),  # rows of KNOWN_FEATURES in a step
        ("known", "i8"),  # address of twice as many KNOWN_FEATURES rows, likewise
        ("n_known", "i8"),
        ("search", "i8"),  # address of the SEARCH
        ("work", "i8"),  # address of the WORK of depths
        ("row", "i8"),  # address of a CORE_PAIR; its R and p are the pose of shape b in shape a
        ("carried", "i8"),  # address of a GROUND_BODY
        ("found", "i8"),  # address of 2 MANIFOLD_ROWS rows of a manifold's contacts
        ("step", "i8"),  # how often pairs were looked at
        ("next", "i8"),  # the pair where `find_contacts` goes on, after tables have grown; else 0
        ("goes_on", "i8"),  # 1 if it does
        ("full", "i8"),  # tables that are too small: bits of FULL_*
        ("updates", "i8"),  # evaluations of pairs of cores since the start, as the next fields; each convex part counts
        ("walked", "i8"),  # steps of V-Clip
        ("fallbacks", "i8"),  # how often a walk was too long or ended too early
        ("rough", "i8"),  # how often a depth was an upper bound only
        ("opened", "i8"),  # how often the hulls of a pair were opened
        ("kept", "i8"),  # how often a pair has kept its contacts
    ]
)
COLLISIONS_KIND = 0x6B6D636F6C6C6973
FULL_HASH, FULL_PAIRS, FULL_CONTACTS, FULL_KNOWN, FULL_SEARCH = 1, 2, 4, 8, 16


class Status(IntEnum):
    """Result of a kernel."""

    DONE = 0
    FULL = 1  # tables must grow, then call again: it goes on where it was
    BAD_BOX = 2  # a shape's box has no finite size: a pose is not finite
    WRONG_ROW = 3  # the address is not that of a COLLISIONS row


DONE, FULL, BAD_BOX, WRONG_ROW = (int(status) for status in Status)

# --- accessors of tables, by their headers ---

shapes_of = table(SHAPE, "shapes", "n")
shape_poses_of = table(SHAPE_POSE, "places", "n")
contacts_of = table(CONTACT, "contacts", "contact_room", times=2)
mounts_of = table(MOUNT, "mounts", "n")
pairs_of = table(PAIR, "pairs", "room")
memories_of = table(PAIR_MEMORY, "memory", "room")
