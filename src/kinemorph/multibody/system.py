"""Rows of constraints between two links of any trees, field by field.

A row is a unit wrench on link b at a point, and its opposite on link a; or a unit force in one degree of freedom. Its
whitened form, y = L⁻ᵀ jᵀ with M = Lᵀ L, is stored for the joints on the paths of both links to the base alone. Then yᵀ
y is the inverse mass of the row, and yᵀ z its velocity, with z = L v (`constraint`).
"""

from __future__ import annotations

import numpy as np

from kinemorph.jit.rows import row, table
from kinemorph.multibody.layout import layout_hash

ROW = np.dtype(
    [
        ("tree_a", "i4"),  # trees of both links, as the system counts them,
        ("tree_b", "i4"),
        ("a", "i4"),  # and the links there, -1 for the base
        ("b", "i4"),
        ("path", "i4"),  # first entry in the list of degrees of freedom on the paths of both links to the base
        ("length", "i4"),  # entries there; the first `split` belong to tree b, the rest to tree a
        ("split", "i4"),
        ("y", "i4"),  # first entry among the numbers y, one for each degree of freedom on the path
        ("n", "f8", 3),  # unit wrench on link b at x, world axes: moment and
        ("f", "f8", 3),  # force
        ("x", "f8", 3),  # m, where it acts
        ("c", "f8"),  # right side that the row must cancel: an acceleration, a velocity or an error
        ("force", "f8"),  # multiplier λ of the unit wrench
        ("scale", "f8"),  # size of yᵀ y before cancellation
    ],
    align=True,
)

ISLAND = np.dtype(
    [
        ("first", "i8"),  # where its rows start in the list of members
        ("m", "i8"),  # rows
        ("G", "i8"),  # where its matrices start
        ("rank", "i8"),  # independent rows; UNKNOWN if they are not finite
        ("dependence", "f8"),  # squared sine below which one of them depends on others
    ]
)
UNKNOWN_RANK = -1  # rank of rows that are not finite: their forces are NaN

SYSTEM = np.dtype(
    [
        ("kind", "i8"),  # SYSTEM_KIND
        ("trees", "i8"),  # address of the addresses of its trees
        ("offsets", "i8"),  # address of the first entry of each tree in vectors of the system
        ("tree_count", "i8"),
        ("nv", "i8"),  # entries in such a vector
        ("loops", "i8"),  # address of the LOOP rows
        ("count", "i8"),  # loops
        ("rows", "i8"),  # address of the ROWs
        ("m", "i8"),  # rows
        ("path", "i8"),  # address of the lists of degrees of freedom, and
        ("path_length", "i8"),  # their entries
        ("Y", "i8"),  # address of the numbers y, and
        ("Y_length", "i8"),  # how many
        ("W", "i8"),  # nv x 6: rows of one loop without gaps; zeros between uses
        ("islands", "i8"),  # address of the ISLANDs: loops that share no tree are independent
        ("island_count", "i8"),
        ("members", "i8"),  # m: rows, island by island
        ("G", "i8"),  # y yᵀ of each island, and
        ("F", "i8"),  # its factor
        ("G_length", "i8"),
        ("order", "i8"),  # m: members as they were eliminated, the dependent ones last
        ("rank", "i8"),  # independent rows of all islands; UNKNOWN if that of an island is
        ("q", "i8"),  # positions of all loop joints, and
        ("nq_loops", "i8"),
        ("v", "i8"),  # velocities or forces of them; scratch
        ("nv_loops", "i8"),
        ("dependence", "f8"),  # squared sine below which a row depends on others, where loops are closed
    ]
)
SYSTEM_KIND = layout_hash("system", SYSTEM, ROW, ISLAND)

I8 = np.dtype("i8")
F8 = np.dtype("f8")

# --- accessors of tables, by their headers ---

row_islands_of = table(ISLAND, "islands", "island_count")
constraint_rows_of = table(ROW, "rows", "m")
members_of = table(I8, "members", "m")
order_of = table(I8, "order", "m")
path_of = table(I8, "path", "path_length")
y_numbers_of = table(F8, "Y", "Y_length")
factor_of = table(F8, "F", "G_length")
tree_addresses_of = table(I8, "trees", "tree_count")
system_of = row(SYSTEM, "system")
