"""The rows of the hierarchical hash, field by field: boxes, tiles and their entries, pairs and their slots.

Kernels get the address of one HASH row, which has the sizes, the settings and the addresses of all tables; `BroadPhase`
owns them. Ids, tiles and entries are indices of rows; -1 is none.
"""

import numpy as np

from kinemorph.jit.rows import table

BOX = np.dtype(
    [
        ("low", "f8", 3),  # m, the box; the tiles that it covers are those of its corners at its level
        ("high", "f8", 3),
        ("scale", "f8"),  # 1/m, tiles per metre at the native level; 0 for OVERSIZED_LEVEL
        ("level", "i4"),  # native level, 0 the finest; OVERSIZED_LEVEL or ABSENT_LEVEL
        ("entry", "i4"),  # the first of its entries in tiles; for OVERSIZED_LEVEL the next such box
    ]
)  # a cache line: all that an update reads while a box stays in its tiles
OVERSIZED_LEVEL = -1
ABSENT_LEVEL = -2

FILTER = np.dtype(
    [
        ("group", "u4"),  # bits: the groups of the box
        ("mask", "u4"),  # bits: the groups with which it forms pairs
        ("fixed", "i4"),  # 1 if it does not move
    ]
)

HASH = np.dtype(
    [
        ("n", "i8"),  # ids in use are below this
        ("moving", "i8"),  # how many boxes the next update moves
        ("top", "i8"),  # coarsest level
        ("finest", "f8"),  # 1/m, tiles a metre at level 0
        ("budget", "i8"),  # t, tiles that a box may cover at its native level
        ("fixed_budget", "i8"),  # t_f, the same for a fixed box
        ("linger", "i8"),  # updates for which a pair outlives its last shared tile
        ("open", "i8"),  # bits: levels that are native to some box
        ("all_over", "i8"),  # the first box that is all over, -1 for none
        ("full", "i8"),  # tables that are too small: bits of FULL_*
        ("tile_mask", "i8"),  # size of the table of tiles - 1
        ("tile_count", "i8"),
        ("entry_room", "i8"),
        ("entry_count", "i8"),  # entries ever taken
        ("entry_free", "i8"),  # the first of those given back, -1 for none
        ("pair_room", "i8"),
        ("pair_count", "i8"),  # rows of pairs ever taken
        ("pair_free", "i8"),  # the first of those given back, -1 for none
        ("pairs_made", "i8"),  # since the start
        ("slot_mask", "i8"),  # size of the table of pairs - 1
        ("boxes", "i8"),  # addresses of the BOX rows, of
        ("filters", "i8"),  # as many FILTER rows, of
        ("order", "i8"),  # INDEX_ROW: the boxes that the next update moves, of
        ("tiles", "i8"),
        ("entries", "i8"),
        ("pairs", "i8"),  # the BOX_PAIR rows, of
        ("lives", "i8"),  # an INDEX_ROW for each of them: number of pairs that have used it, of
        ("slots", "i8"),  # INDEX_ROW: the row of a pair or VACANT_SLOT, of
        ("found", "i8"),  # the LISTED_PAIR rows that are reported, of
        ("sorted", "i8"),  # twice as many to keep them in order, of
        ("half", "i8"),  # in which half of them the order is,
        ("n_sorted", "i8"),  # how many it has, with some that are gone; of
        ("fresh", "i8"),  # MOST_NEW_PAIRS rows for pairs that are not in it yet, and
        ("n_fresh", "i8"),  # how many there are; -1 to sort from scratch. And of
        ("tally", "i8"),  # an INDEX_ROW for each box and one more, to count in
    ]
)
FULL_TILES, FULL_ENTRIES, FULL_PAIRS = 1, 2, 4

BOX_PAIR = np.dtype(
    [
        ("a", "i4"),  # the two ids, a < b
        ("b", "i4"),
        ("shared", "i4"),  # tiles they share at the coarser of their native levels; 1 when one of them is all over; or
        # FREE_PAIR_BASE - the next free row, which is negative, in a row that no pair has
        ("linger", "i4"),  # updates left once the count is 0; or IGNORED
    ]
)
IGNORED = -1  # counted as any other pair, never reported; for example the boxes at a joint

MOST_NEW_PAIRS = 64  # new pairs in an update: if there are more, all are sorted
FREE_PAIR_BASE = -2
VACANT_SLOT = -1  # an unused slot
LISTED_PAIR = np.dtype([("ij", "i4", 2), ("row", "i4")])  # the two ids, and the row of their pair
INDEX_ROW = np.dtype([("i", "i4")])

TILE = np.dtype(
    [
        ("key", "i8"),  # coordinates and level, see `tile_key`; EMPTY_TILE_KEY if unused. Four rows a cache line
        ("natives", "i4"),  # first entry of a box whose native level this is, -1 for none
        ("guests", "i4"),  # first entry of a box with a finer native level
    ]
)
LEVEL_BITS = 6
LEVEL_MASK = 63
PLACE_BITS = 19  # of x, of y and of z, so that a key is positive
PLACE_MASK = (1 << PLACE_BITS) - 1
EMPTY_TILE_KEY = -1

ENTRY = np.dtype(
    [
        ("key", "i8"),  # of the tile
        ("box", "i4"),
        ("tile", "i4"),
        ("next", "i4"),  # in the tile's list
        ("before", "i4"),  # in the tile's list, -1 for the first
        ("sibling", "i4"),  # in the box's chain; or the next free one
        ("unused", "i4"),  # two a cache line
    ]
)

# --- accessors of tables, by their headers ---

boxes_of = table(BOX, "boxes", "n")
box_pairs_of = table(BOX_PAIR, "pairs", "pair_room")
slots_of = table(INDEX_ROW, "slots", "slot_mask", more=1)
tiles_of = table(TILE, "tiles", "tile_mask", more=1)
entries_of = table(ENTRY, "entries", "entry_room")
