"""Shapes under stable ids: rows that are used again, ids that are not, and what rows point to is kept alive."""

from __future__ import annotations

import copy
import gc
import pickle
from typing import Any

import numpy as np
import pytest

import kinemorph as km
from kinemorph.collision.shapes.shape_rows import Form
from kinemorph.collision.shapes.shape_table import ROW_BITS

BOX, BALL = km.Shape.box((1.0, 2.0, 3.0)), km.Shape.sphere(0.25)
COPIES = [copy.copy, copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))]


def table_of(*solids: Any) -> tuple[km.ShapeTable, list[int]]:
    table = km.ShapeTable()
    return table, [table.add(solid, link) for link, solid in enumerate(solids)]


def test_rows_say_what_a_shape_is() -> None:
    core = km.Polyhedron.box((2.0, 2.0, 2.0))
    parts = km.Parts([core, core.moved(km.Pose((4.0, 0.0, 0.0)))], 0.1)
    table, ids = table_of(BOX, (core, 0.5), parts, km.HalfSpace())
    forms = [Form(int(form)) for form in table.rows["form"][:4]]
    assert forms == [Form.CONVEX, Form.CONVEX, Form.TREE, Form.GROUND]
    assert [table.link(id) for id in ids] == [0, 1, 2, 3]
    assert table.rows["core"][1] == core.address
    assert table.rows["radius"][:4].tolist() == [0.0, 0.5, 0.0, 0.0]
    assert table.rows["n_nodes"][:4].tolist() == [1, 1, 3, 0]
    assert table.rows["fixed"][:4].tolist() == [0, 0, 0, 1]
    np.testing.assert_allclose(
        table.mounts["reach"][:3], (np.sqrt(14.0) / 2.0, np.sqrt(3.0) + 0.5, np.sqrt(27.0) + 0.1)
    )
    np.testing.assert_allclose(table.mounts["high"][2], (5.1, 1.1, 1.1))
    assert (table[ids[0]], table[ids[2]]) == (BOX, parts)


def test_a_shape_stands_where_its_own_pose_and_that_on_the_link_say() -> None:
    table = km.ShapeTable()
    inner, outer = km.Pose.rpy(0.1, 0.2, 0.3, (1.0, 0.0, 0.0)), km.Pose.rpy(0.4, 0.0, -1.0, (0.0, 2.0, 0.0))
    id = table.add(km.Shape.box((1, 1, 1), inner), 5, outer)
    np.testing.assert_allclose(table.mounts["R"][0].reshape(3, 3), (outer @ inner).rotation, atol=1e-15)
    np.testing.assert_allclose(table.mounts["p"][0], (outer @ inner).position, atol=1e-15)
    before = table.mounts[0].copy()
    table.move(id, link=7)
    assert table.link(id) == 7
    assert table.mounts[0] == before
    table.move(id, pose=km.Pose())
    np.testing.assert_allclose(table.mounts["p"][0], inner.position)
    assert table.link(id) == 7
    table.move(id, link=-1)
    assert table.rows["fixed"][0] == 1


def test_ids_are_never_used_again_and_rows_are() -> None:
    table, (a, b, c) = table_of(BOX, BALL, BOX)
    assert (a, b, c) == (0, 1, 2)
    table.remove(b)
    table.remove(a)
    assert len(table) == 1
    first, second, third = (table.add(BALL, 9) for _ in range(3))
    assert [table.row_of(id) for id in (first, second, third)] == [0, 1, 3]
    assert first == 1 << ROW_BITS | 0
    assert table.ids == [first, second, c, third]
    assert all(id in table for id in table.ids)
    for stale in (a, b):
        assert stale not in table
        for ask in (table.row_of, table.remove, table.link, table.body, table.move, table.__getitem__):
            with pytest.raises(ValueError, match=rf"shape {stale} was removed; \d+ has its row now"):
                ask(stale)
    table.remove(third)
    with pytest.raises(ValueError, match=f"shape {third} was removed"):
        table.regroup(third, group=1, mask=1)


def test_an_id_survives_a_row_that_many_shapes_have_had() -> None:
    table, old = km.ShapeTable(), []
    for _ in range(100):
        old.append(table.add(BALL, 0))
        table.remove(old[-1])
    assert len(set(old)) == 100
    assert all(id not in table for id in old)
    assert len(table) == 0
    assert table.count == 1


@pytest.mark.parametrize("copied", COPIES)
def test_a_copy_has_rows_and_ids_of_its_own(copied: Any) -> None:
    core = km.Polyhedron.box((1, 1, 1))
    table, (a, b, c) = table_of(
        core, km.Parts([core, core.moved(km.Pose((3, 0, 0)))]), km.HeightField(np.zeros((3, 3)), (2, 2))
    )
    table.remove(a)
    twin = copied(table)
    assert twin.ids == table.ids == [b, c]
    assert twin.rows.ctypes.data != table.rows.ctypes.data
    for id in twin.ids:
        shape, body = twin.rows[twin.row_of(id)], twin.body(id)
        if isinstance(body, km.Ground):
            assert shape["ground"] == body.address
        else:
            assert shape["nodes"] == body.nodes.ctypes.data
    assert twin.add(BALL, 3) == table.add(BOX, 3)
    twin.remove(b)
    assert b in table
    assert b not in twin
    del table
    gc.collect()
    found = km.Collisions(twin, candidates=km.Candidates.ALL, question=km.PairQuery.DISTANCE)
    found.update([km.Pose(), km.Pose(), km.Pose(), km.Pose((0.0, 0.0, 3.0))])
    assert found.pairs["distance"].tolist() == pytest.approx([2.75])


def test_what_rows_point_to_lives_as_long_as_the_table() -> None:
    table = km.ShapeTable()
    for k in range(200):
        table.add(km.Polyhedron.box((1.0, 1.0, 1.0 + k)), k)
    found = km.Collisions(table, question=km.PairQuery.DISTANCE, candidates=km.Candidates.ALL)
    poses = [km.Pose((3.0 * k, 0.0, 0.0)) for k in range(200)]
    found.update(poses)
    before = found.pairs["distance"].copy()
    del table
    gc.collect()
    junk = [np.full(100, 1e300) for _ in range(1000)]
    found.update(poses)
    assert np.array_equal(found.pairs["distance"], before)
    assert len(junk) == 1000


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda t: t.add("ball"), "expected a Shape, a Polyhedron.*'ball'"),
        (lambda t: t.add(BOX, 1.5), "link is 1.5; expected -1 for the base"),
        (lambda t: t.add(BOX, -2), "link is -2; expected -1 for the base"),
        (lambda t: t.add(BOX, True), "link is True; expected -1 for the base"),
        (lambda t: t.add(BOX, 0, (0, 0, 1)), r"pose must be a km\.Pose or None, not \(0, 0, 1\)"),
        (lambda t: t.add(BOX, group=-1), "group is -1, expected 32 bits"),
        (lambda t: t.add((km.Polyhedron.point(), np.nan)), "the radius around .* is nan"),
        (lambda t: t.remove(0), "there is no shape 0"),
        (lambda t: t.remove("box"), "there is no shape 'box'"),
        (lambda t: t.row_of(-1), "there is no shape -1"),
        (lambda t: t.id_at(4), "row 4 has no shape"),
    ],
)
def test_bad_arguments_are_named_and_change_nothing(call: Any, sentence: str) -> None:
    table = km.ShapeTable()
    with pytest.raises((TypeError, ValueError), match=sentence):
        call(table)
    assert len(table) == table.count == table.revision == 0
