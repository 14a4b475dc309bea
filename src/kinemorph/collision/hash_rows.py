"""The rows of the hierarchical hash, field by field: bodies, tiles and their entries, pairs and their slots.

Kernels get the address of one HASH row, which has the sizes, the settings and the addresses of all tables; `BroadPhase`
owns them. Handles, tiles and entries are indices of rows; -1 is none.
"""

import numpy as np

BODY = np.dtype(
    [
        ("low", "f8", 3),  # m, the box; the tiles that it covers are those of its corners at its level
        ("high", "f8", 3),
        ("scale", "f8"),  # 1/m, tiles a metre at the native level; 0 when all over
        ("level", "i4"),  # native level, 0 the finest; ALL_OVER or ABSENT
        ("entry", "i4"),  # the first of its entries in tiles; the next all-over body when it is one itself
    ]
)  # a cache line: all that an update looks at while a body stays in its tiles
ALL_OVER = -1
ABSENT = -2

KIND = np.dtype(
    [
        ("group", "u4"),  # bits: what it is
        ("mask", "u4"),  # bits: what it meets
        ("fixed", "i4"),  # 1 if it does not move
    ]
)

HASH = np.dtype(
    [
        ("n", "i8"),  # handles in use are below this
        ("moving", "i8"),  # how many bodies the next update moves
        ("top", "i8"),  # coarsest level
        ("finest", "f8"),  # 1/m, tiles a metre at level 0
        ("budget", "i8"),  # t, tiles that a body may cover at its native level
        ("fixed_budget", "i8"),  # t_f, the same for a fixed body
        ("linger", "i8"),  # updates for which a pair outlives its last shared tile
        ("open", "i8"),  # bits: levels that are native to some body
        ("all_over", "i8"),  # the first body that is all over, -1 for none
        ("full", "i8"),  # which tables were too small: bits of FULL_*
        ("tile_mask", "i8"),  # size of the table of tiles - 1
        ("tile_count", "i8"),
        ("entry_room", "i8"),
        ("entry_count", "i8"),  # entries ever taken
        ("entry_free", "i8"),  # the first of those given back, -1 for none
        ("pair_room", "i8"),
        ("pair_count", "i8"),  # rows of pairs ever taken
        ("pair_free", "i8"),  # the first of those given back, -1 for none
        ("pairs_made", "i8"),  # in all its life
        ("slot_mask", "i8"),  # size of the table of pairs - 1
        ("bodies", "i8"),  # addresses of the BODY rows, of
        ("kinds", "i8"),  # as many KIND rows, of
        ("order", "i8"),  # the HANDLE rows that the next update moves, of
        ("tiles", "i8"),
        ("entries", "i8"),
        ("pairs", "i8"),  # the PAIR rows, of
        ("slots", "i8"),  # the HANDLE rows that have the row of a pair or FREE, of
        ("found", "i8"),  # the MEETING rows that are reported, of as many to sort them, and of
        ("spare", "i8"),
        ("tally", "i8"),  # a HANDLE row for each body and one more, to count in
    ]
)
FULL_TILES, FULL_ENTRIES, FULL_PAIRS = 1, 2, 4

PAIR = np.dtype(
    [
        ("a", "i4"),  # the two handles, a < b
        ("b", "i4"),
        ("count", "i4"),  # tiles they share at the coarser of their native levels; 1 when one of them is all over; or
        # GONE - the next free row, which is negative, in a row that no pair has
        ("linger", "i4"),  # updates left once the count is 0; or IGNORED
    ]
)
IGNORED = -1  # the pair of a joint's two bodies, for instance: counted as any other, never reported

GONE = -2
FREE = -1  # an unused slot
MEETING = np.dtype([("ij", "i4", 2)])
HANDLE = np.dtype([("i", "i4")])

TILE = np.dtype(
    [
        ("key", "i8"),  # where it is and its level, see `tiles.tile_key`: four rows a cache line; EMPTY if unused
        ("natives", "i4"),  # first entry of a body whose native level this is, -1 for none
        ("guests", "i4"),  # first entry of a body with a finer native level
    ]
)
LEVEL_BITS = 6
LEVEL_MASK = 63
PLACE_BITS = 19  # of x, of y and of z, so that a key is positive
PLACE_MASK = (1 << PLACE_BITS) - 1
EMPTY = -1

ENTRY = np.dtype(
    [
        ("key", "i8"),  # of the tile
        ("body", "i4"),
        ("tile", "i4"),
        ("next", "i4"),  # in the tile's list
        ("before", "i4"),  # in the tile's list, -1 for the first
        ("sibling", "i4"),  # in the body's chain; or the next free one
        ("unused", "i4"),  # two a cache line
    ]
)
