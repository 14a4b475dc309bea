"""The rows of a live forest, field by field: its header, its tables by id, and the rows of edits.

Each tree is a memory block of its own that never moves: its `TREE` header, its rows, and the numbers of its state, with
indices that count from the block's first link. Bodies, joints, loops and trees have a row each in a table; an id is the
index there and the generation of the row, in one integer, so that a stale id is recognized.
"""

from __future__ import annotations

import numpy as np

from kinemorph.jit.rows import row, table, vector
from kinemorph.multibody.algorithms.free_body import FREE_BODY
from kinemorph.multibody.layout import DOF, DOF_DATA, LINK, LINK_DATA, TREE, layout_hash
from kinemorph.multibody.model.elements import ELEMENT
from kinemorph.multibody.model.loops import LOOP
from kinemorph.multibody.system import F8

FOREST = np.dtype(
    [
        ("kind", "i8"),  # FOREST_KIND
        ("busy", "i8"),  # whether a long call of some thread uses the rows now
        ("pools", "i8"),  # address of the POOLs: TREES, BODIES, JOINTS, LOOPS
        ("trees", "i8"),  # addresses of the tables, and their numbers of rows: TREE_SLOT
        ("tree_room", "i8"),
        ("bodies", "i8"),  # BODY_SLOT
        ("body_room", "i8"),
        ("joints", "i8"),  # JOINT_SLOT
        ("joint_room", "i8"),
        ("loops", "i8"),  # LOOP_SLOT
        ("loop_room", "i8"),
        ("ties", "i8"),  # address of the LOOP rows, by loop
        ("drives", "i8"),  # address of 6 DOF rows for each loop, for when its joint carries a link
        ("elements", "i8"),  # address of the ELEMENT rows; their places are in the bodies' own frames
        ("ends", "i8"),  # address of the ids of the two bodies of each, -1 for the base
        ("element_count", "i8"),
        ("start", "i8"),  # start of the newest chunk of memory,
        ("at", "i8"),  # its first free byte,
        ("end", "i8"),  # and its end
        ("lists", "i8"),  # address of the first free block of each size, 0 for none
        ("scratch", "i8"),  # address of memory for one call
        ("scratch_size", "i8"),
        ("scratch_used", "i8"),
        ("want", "i8"),  # what was too small, when a call returns FULL: a pool, CHUNK or SCRATCH
        ("need", "i8"),  # and how many rows or bytes are needed
        ("turn", "i8"),  # number of the last collection of coupled trees: marks of its members have it
        ("first_tree", "i8"),  # the trees that are collected, a list through `follows`, and
        ("tree_count", "i8"),
        ("first_loop", "i8"),  # the loops that couple them
        ("loop_count", "i8"),
        ("rates", "i8"),  # entries of v that these trees have together
        ("gx", "f8"),  # m/s², gravity
        ("gy", "f8"),
        ("gz", "f8"),
        ("dependence", "f8"),  # sine of the angle to other rows below which a constraint row counts as dependent
    ]
)

POOL = np.dtype(
    [
        ("capacity", "i8"),  # rows of a table,
        ("count", "i8"),  # rows that have ever been used,
        ("used", "i8"),  # and rows in use now
        ("free", "i8"),  # first row to use again, -1 for none
    ]
)
TREES, BODIES, JOINTS, LOOPS, CHUNK, SCRATCH = range(6)  # the pools, and other memory that may be FULL
IN_USE = -2  # value of `next` of a row that is in use

TREE_SLOT = np.dtype(
    [
        ("generation", "i4"),  # how many trees have had this row before
        ("next", "i4"),  # the next free row, -1 for none; IN_USE
        ("address", "i8"),  # of its TREE
        ("state", "i8"),  # address of the numbers of its state: q v a tau rest jump
        ("size", "i4"),  # class of its block of memory
        ("sides", "i4"),  # number of sides of loops on its bodies
        ("mark", "i8"),  # the last collection that it was in,
        ("follows", "i4"),  # the tree after it there, -1 for none,
        ("place", "i4"),  # its place among them,
        ("offset", "i8"),  # and its first entry in a vector over all of them
    ],
    align=True,
)

BODY_SLOT = np.dtype(
    [
        ("generation", "i4"),
        ("next", "i4"),
        ("tree", "i4"),  # the tree that the body is in,
        ("link", "i4"),  # and its link there
        ("moved", "i4"),  # whether the link's frame is no longer the body's own
        ("side", "i4"),  # first side of a loop on it, 2 x loop + (0 for a, 1 for b); -1 for none
        ("R", "f8", 9),  # pose of the body's own frame on the link
        ("p", "f8", 3),  # m
    ],
    align=True,
)

JOINT_SLOT = np.dtype(
    [
        ("generation", "i4"),
        ("next", "i4"),
        ("tree", "i4"),  # the tree that the joint belongs to, -1 if it closes a loop
        ("link", "i4"),  # the link that it carries there
        ("loop", "i4"),  # the loop that it closes, -1 if it belongs to a tree
    ],
    align=True,
)

LOOP_SLOT = np.dtype(
    [
        ("generation", "i4"),
        ("next", "i4"),
        ("joint", "i4"),  # the joint that closes it
        ("a", "i4"),  # the bodies that it ties, -1 for the base
        ("b", "i4"),
        ("next_a", "i4"),  # the next side of a loop on body a, -1 for none
        ("next_b", "i4"),
        ("follows", "i4"),  # the loop after it in the last collection, -1 for none
        ("mark", "i8"),  # the last collection that it was in
    ],
    align=True,
)

# The vectors of a tree's state. Each has the room of q, one after the other: vector k starts at state + 8 nq k. `rest`:
# where springs are slack; `jump`: of v, at the last impact that the tree felt.
Q, V, A, TAU, REST, JUMP = range(6)

FRAME = np.dtype([("R", "f8", 9), ("p", "f8", 3)])

EDIT = np.dtype(
    [
        ("what", "i8"),  # CONNECT, CUT, REROOT or REMOVE
        ("a", "i8"),  # id of the body that carries the joint, -1 for the base; connect
        ("b", "i8"),  # id of the body that is joined to it (connect), re-rooted or removed
        ("joint", "i8"),  # id of the joint that is cut
        ("root", "i8"),  # id of the body that the free joint of a cut-off part carries, -1 for the first
        ("how", "i8"),  # AUTO, AS_TREE or AS_LOOP; connect
        ("placed", "i8"),  # how the joint's place is given: NOWHERE, AT_POINT or AT_POSE
        ("at_R", "f8", 9),  # the joint's frame in the world
        ("at_p", "f8", 3),  # m
        ("held", "i8"),  # how the successor frame on b is given: NOT_SAID, ON_BODY or ON_LINK
        ("on_R", "f8", 9),  # that frame, in the body's own frame or in the link's
        ("on_p", "f8", 3),  # m
        ("row", "i8"),  # address of the new joint's LOOP row,
        ("dofs", "i8"),  # and of its DOF rows, as a joint of a tree
        ("cannot_close", "i8"),  # whether its friction or armature forbids that it closes a loop
    ],
    align=True,
)
CONNECT, CUT, REROOT, REMOVE = range(4)
AUTO, AS_TREE, AS_LOOP = range(3)
NO_POSITION, AT_POINT, AT_POSE = range(3)
NOT_GIVEN, ON_BODY, ON_LINK = range(3)

OUTCOME = np.dtype(
    [
        ("status", "i8"),
        ("joint", "i8"),  # id of the joint that was made, or that carries the part now; -1 if there is none
        ("closes", "i8"),  # whether that joint closes a loop
        ("kind", "i8"),  # its JointKind
        ("body", "i8"),  # index of the body that the joint carries, or that an error is about; -1 for the base
        ("loop", "i8"),  # index of the joint of the loop that was to carry the part, -1 if it is another joint
        ("lossy", "i8"),  # index of an inverted joint that does not act as before, -1 if there is none
        ("tree", "i8"),  # index of the tree that has the joint
        ("impulse", "f8", 6),  # moment and impulse on b at the new joint, N m s and N s, world axes
        ("energy_lost", "f8"),  # J
        ("momentum_error", "f8"),  # N s and N m s: of all coupled trees, if no joint ties them to the base
        ("pose_error", "f8"),  # m and rad: largest difference of a body's pose before and after
        ("twist_error", "f8"),  # m/s and rad/s: likewise for velocities, the jump left out
        ("loop_error", "f8"),  # m and rad: largest error of the loops that took part
        ("gap", "f8"),  # m and rad: largest error of the new joint
        ("reach", "f8"),  # m, largest coordinate of a body that took part
        ("speed", "f8"),  # m/s and rad/s, largest velocity of one
        ("position", "f8", 7),  # of the new joint
    ],
    align=True,
)

# results of an edit; the last two are none but its next stage
(
    DONE, FULL, NO_FOREST, STALE_A, STALE_B, STALE_JOINT, STALE_ROOT, NOT_FINITE, SAME_BODY, WOULD_CLOSE_LOOP,
    UNFIT_FOR_LOOP, OFF_POSITION, OUTSIDE_LIMITS, LOOP_OPEN, MOVES_OTHERWISE, NO_PLACE, NOT_CARRIED, WEIGHTLESS,
    IMPACT_NEXT, GRAFT_NEXT,
) = range(20)  # fmt: skip

PLAN = np.dtype(
    [
        ("a", "i8"),  # bodies that are connected, -1 for the base,
        ("b", "i8"),
        ("tree_a", "i8"),  # their trees, -1 for the base,
        ("tree_b", "i8"),
        ("link_a", "i8"),  # and their links, -1 for the base
        ("link_b", "i8"),
        ("tree", "i8"),  # the tree that a link is taken from, -1 if none is
        ("end", "i8"),  # the link of it whose joint is removed
        ("loop", "i8"),  # address of the LOOP row of the joint that is made, or that carries the part now
        ("drives", "i8"),  # address of its DOF rows
        ("velocities", "i8"),  # address of all velocities after an impact, and of the jumps behind them; 0 if none is
        ("graft", "i8"),  # address of the GRAFT, 0 if there is none
        ("removes_tree", "i8"),  # whether the tree that results is removed at once
    ]
)

GRAFT = np.dtype(
    [
        ("from", "i8"),  # the tree that a link is taken from, and
        ("to", "i8"),  # the one that it is hung on, -1 if that is the base or the same one
        ("keep", "i8"),  # index of the tree that results from both
        ("velocities", "i8"),  # address of all velocities after an impact, and of the jumps behind them; 0 if none is
        ("made", "i8"),  # index of the joint in the table, -1 if it is new
        ("light", "i8"),  # whether the new joint may move no mass
        ("placed", "i8"),  # whether the EDIT row has the new joint's frames, else they are set
        ("source", "i8"),  # address of the TREE that a link is taken from
        ("state", "i8"),  # address of the numbers of its state
        ("top", "i8"),  # the link that gets another joint,
        ("end", "i8"),  # and the one on its way to the base that loses its joint
        ("rest", "i8"),  # address of the TREE that stays, 0 if no link does
        ("rest_state", "i8"),
        ("host", "i8"),  # address of the TREE that gets the moving links; the same as `rest` if they hang on that
        ("host_state", "i8"),
        ("parent", "i8"),  # link of the host that carries the new joint, -1 for the base
        ("parent_row", "i8"),  # address of the LINK_DATA of that link, with its motion
        ("n0", "i8"),  # links, entries of q and entries of v that the host has before the moving ones
        ("iq0", "i8"),
        ("iv0", "i8"),
        ("stay_count", "i8"),  # number of links that stay
        ("length", "i8"),  # of the chain of inversion
        ("order", "i8"),  # address of the links of the source in order: those that stay, the chain, the others
        ("where", "i8"),  # address of each link's place in that order
        ("shifts", "i8"),  # address of a FRAME for each link of the source: its new frame in its old one
        ("turned", "i8"),  # address of numbers like the state's, for joints that are inverted
        ("joint", "i8"),  # address of the new joint, a LINK row with its axes and its frame on the parent,
        ("dofs", "i8"),  # of its DOF rows,
        ("slack", "i8"),  # and of the 7 numbers of its springs' rest position
    ]
)

FOREST_KIND = layout_hash(
    "forest", FOREST, POOL, TREE_SLOT, BODY_SLOT, JOINT_SLOT, LOOP_SLOT, LOOP, TREE, LINK, DOF, LINK_DATA, DOF_DATA,
    FREE_BODY, ELEMENT, EDIT, OUTCOME,
)  # fmt: skip

# --- accessors of tables, by their headers ---

bodies_of = table(BODY_SLOT, "bodies", "body_room")
loop_slots_of = table(LOOP_SLOT, "loops", "loop_room")
trees_of = table(TREE_SLOT, "trees", "tree_room")
tree_of = row(TREE, "address")
source_of = row(TREE, "source")
host_of = row(TREE, "host")
joints_of = table(JOINT_SLOT, "joints", "joint_room")
loops_of = table(LOOP, "ties", "loop_room")

# of a row of the table of trees, and its tree: q_of(slot, tree)
q_of = vector(F8, "state", Q, "nq", "nq")
v_of = vector(F8, "state", V, "nq", "nv")
a_of = vector(F8, "state", A, "nq", "nv")
tau_of = vector(F8, "state", TAU, "nq", "nv")
rest_of = vector(F8, "state", REST, "nq", "nq")
jump_of = vector(F8, "state", JUMP, "nq", "nv")
