"""Force elements in a forest: between bodies, by id, so that edits need not update them.

Their ends are in the bodies' own frames. An element whose body is gone is dropped at the next use of the elements.
"""

from __future__ import annotations

from typing import Any

from kinemorph.jit.api import kernel, rows_at
from kinemorph.multibody.algorithms.free_body import move_tree
from kinemorph.multibody.layout import LINK_DATA
from kinemorph.multibody.model.elements import ELEMENT, add_wrench, element_wrench, elements_of
from kinemorph.multibody.system import F8, I8
from kinemorph.spatial.mat3 import Mat3, mul, mul_vec
from kinemorph.spatial.rows import load3, load9
from kinemorph.spatial.vec3 import Vec3, add, neg
from kinemorph.structure.forest.layout import BODIES, a_of, bodies_of, q_of, tree_of, trees_of, v_of
from kinemorph.structure.forest.memory import LINK_ROW_SIZE, clear_words, copy_words, find_row, pool_of

ELEMENT_SIZE, ENDS_SIZE, WRENCH_SIZE = ELEMENT.itemsize, 16, 48


@kernel
def element_body(forest: Any, index: int, side: int) -> int:
    """The body at one end of an element: -1 for the base, -2 if the body is gone."""
    name = rows_at(forest["ends"], 2 * forest["element_count"], I8)[2 * index + side]
    if name == -1:
        return -1
    body = find_row(pool_of(forest, BODIES), bodies_of(forest), name)
    return body if body >= 0 else -2


@kernel
def drop_stale_elements(forest: Any) -> None:
    """Remove elements whose bodies are gone; the last elements take their rows."""
    i = 0
    while i < forest["element_count"]:
        if element_body(forest, i, 0) == -2 or element_body(forest, i, 1) == -2:
            last = forest["element_count"] - 1
            copy_words(forest["elements"] + last * ELEMENT_SIZE, forest["elements"] + i * ELEMENT_SIZE, ELEMENT_SIZE)
            copy_words(forest["ends"] + last * ENDS_SIZE, forest["ends"] + i * ENDS_SIZE, ENDS_SIZE)
            forest["element_count"] = last
        else:
            i += 1


@kernel(inline=False)
def measure_element_forces(forest: Any) -> int:
    """Mark the trees that elements act on. Returns the bytes that the wrenches on their links take."""
    trees = trees_of(forest)
    bodies = bodies_of(forest)
    drop_stale_elements(forest)
    forest["turn"] += 1
    size = 0
    for i in range(forest["element_count"]):
        for side in range(2):
            body = element_body(forest, i, side)
            if body >= 0 and trees[bodies[body]["tree"]]["mark"] != forest["turn"]:
                slot = trees[bodies[body]["tree"]]
                slot["mark"] = forest["turn"]
                size += WRENCH_SIZE * tree_of(slot)["n"]
    return size


@kernel(inline=False)
def update_slot_motion(slot: Any) -> None:
    """Compute poses, velocities and accelerations of the links of a tree, from its state."""
    tree = tree_of(slot)
    move_tree(tree, q_of(slot, tree), v_of(slot, tree), a_of(slot, tree))


@kernel(inline=False)
def prepare_element_forces(forest: Any, memory: int) -> None:
    """Give all trees that elements act on zeroed wrenches of their links, and compute the motion of the links."""
    trees = trees_of(forest)
    bodies = bodies_of(forest)
    forest["turn"] += 1
    for i in range(forest["element_count"]):
        for side in range(2):
            body = element_body(forest, i, side)
            if body >= 0 and trees[bodies[body]["tree"]]["mark"] != forest["turn"]:
                slot = trees[bodies[body]["tree"]]
                slot["mark"] = forest["turn"]
                tree = tree_of(slot)
                tree["pushes"] = memory
                clear_words(memory, WRENCH_SIZE * tree["n"])
                memory += WRENCH_SIZE * tree["n"]
                update_slot_motion(slot)


@kernel
def element_link_row(forest: Any, body: int, other: int) -> int:
    """Address of the LINK_DATA of a body's link; for -1 that of the base, in the tree of the other body."""
    bodies = bodies_of(forest)
    slot = trees_of(forest)[bodies[body if body >= 0 else other]["tree"]]
    link = bodies[body]["link"] + 1 if body >= 0 else 0
    return tree_of(slot)["rows"] + link * LINK_ROW_SIZE


@kernel
def link_data_of_both(forest: Any, a: int, b: int) -> tuple[Any, Any]:
    """LINK_DATA rows of two bodies, one of which may be the base."""
    one = rows_at(element_link_row(forest, a, b), 1, LINK_DATA)[0]
    return one, rows_at(element_link_row(forest, b, a), 1, LINK_DATA)[0]


@kernel
def wrench_of_element(forest: Any, element: Any, a: int, b: int) -> tuple[Vec3, Vec3, Vec3, float]:
    """Point of action, moment and force on body b, and elastic energy of an element between bodies a and b."""
    da, db = link_data_of_both(forest, a, b)
    Ra, pa = body_frame_to_link_frame(forest, a, load9(element["Ra"]), load3(element["pa"]))
    Rb, pb = body_frame_to_link_frame(forest, b, load9(element["Rb"]), load3(element["pb"]))
    return element_wrench(element, da, Ra, pa, db, Rb, pb)


@kernel
def body_frame_to_link_frame(forest: Any, body: int, R: Mat3, p: Vec3) -> tuple[Mat3, Vec3]:
    """A pose in a body's own frame, in the frame of its link."""
    if body < 0:
        return R, p
    own = bodies_of(forest)[body]
    E = load9(own["R"])
    return mul(E, R), add(load3(own["p"]), mul_vec(E, p))


@kernel
def add_body_wrench(forest: Any, body: int, data: Any, x: Vec3, n: Vec3, f: Vec3) -> None:
    """Add a wrench at x to the wrench on a body's link; the base takes none."""
    if body >= 0:
        row = bodies_of(forest)[body]
        slot = trees_of(forest)[row["tree"]]
        at = tree_of(slot)["pushes"] + WRENCH_SIZE * row["link"]
        add_wrench(data, rows_at(at, 6, F8), x, n, f)


@kernel(inline=False)
def add_forest_element_forces(forest: Any, memory: int) -> None:
    """Compute the wrenches of all elements, into the `pushes` of their trees, after `measure_element_forces`.

    The caller sets `pushes` to 0 after use, because the memory is scratch.
    """
    prepare_element_forces(forest, memory)
    elements = elements_of(forest)
    for i in range(forest["element_count"]):
        a, b = element_body(forest, i, 0), element_body(forest, i, 1)
        da, db = link_data_of_both(forest, a, b)
        x, n, f, _ = wrench_of_element(forest, elements[i], a, b)
        add_body_wrench(forest, b, db, x, n, f)
        add_body_wrench(forest, a, da, x, neg(n), neg(f))
