"""Boxes that a kernel makes are, but for addresses, those that are made one by one."""

from __future__ import annotations

import numpy as np

from kinemorph.geometry.boxes import box_pattern, make_boxes
from kinemorph.geometry.convex_parts import NODE, Parts
from kinemorph.geometry.polyhedron import BOX_PLACES, BOX_ROWS, Polyhedron, box_from_row
from kinemorph.multibody.tables import in_one_piece


def test_boxes_are_to_the_bit_as_one_by_one() -> None:
    sizes = np.random.default_rng(3).uniform(0.01, 3.0, (20, 3))
    (rows, nodes), starts = in_one_piece((20, BOX_ROWS), (20, NODE))
    make_boxes(box_pattern(), sizes, *starts)
    for k, size in enumerate(sizes):
        made, core = box_from_row(rows[k : k + 1]), Polyhedron.box(size)
        for name in ("vertices", "edges", "faces", "edge_at", "face_edges"):
            assert getattr(made, name).tobytes() == getattr(core, name).tobytes()
        for name in made._core.dtype.names or ():
            if name not in ("vertices", "edges", "faces"):
                assert made._core[name].tobytes() == core._core[name].tobytes()
        assert made.address == starts[0] + k * BOX_ROWS.itemsize + BOX_PLACES["core"]
        single, root = Parts.single(core, 0.0, *core.bounds.tolist()).nodes[0], nodes[k]
        assert root["core"] == made.address
        for name in NODE.names or ():
            assert name == "core" or root[name].tobytes() == single[name].tobytes(), name
