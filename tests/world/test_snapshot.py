"""Snapshots: a world from bytes goes on bit for bit; bytes that are anything else are refused, and nothing changes."""

import hashlib

import msgspec
import numpy as np
import pytest
from tests.world.kept_worlds import SMALL, arm, asleep, content_of, ground, resealed, spoiled, use

import kinemorph as km
from kinemorph.contact.solver import Solver
from kinemorph.world import kept
from kinemorph.world.snapshot import HEAD
from kinemorph.world.soundness import ROOMS


def hand() -> km.World:
    """Between connect and cut, in contact."""
    world = asleep()
    bodies = world.bodies
    world.connect(bodies[3], bodies[4], km.Joint.revolute("y"))
    world.step(7)
    return world


MOMENTS = {**SMALL, "connected": hand, "empty": km.World}


@pytest.mark.filterwarnings("ignore:world. at .* there are bodies deep in each other")
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_loaded_world_goes_on_bit_for_bit(moment):
    world = MOMENTS[moment]()
    data = world.save()
    other = km.World.load(data)
    used = ground()
    used.restore(data)
    assert other.save() == used.save() == data
    for _ in range(4):
        for one in (world, other, used):
            one.step(25)
        assert world.hash() == other.hash() == used.hash()
        for one in (world, other, used):
            one.add(km.Shape.box((0.2, 0.1, 0.1)), at=(0.1, 0, 1.0))
    assert [b.id for b in world.bodies] == [b.id for b in other.bodies]
    assert [t.force.tolist() for t in world.contacts()] == [t.force.tolist() for t in used.contacts()]


def test_saving_changes_nothing():
    one, other = ground(), ground()
    for _ in range(10):
        one.save()
        one.step(5)
        other.step(5)
    assert one.hash() == other.hash()


def test_edits_after_a_restore_give_the_same_ids():
    world = ground()
    data = world.save()
    ids = []
    for one in (world, km.World.load(data)):
        bodies = one.bodies
        one.remove(bodies[0])
        added = [one.add(km.Shape.sphere(0.1), at=(0, 0, 2 + i)).id for i in range(3)]
        tie = one.connect(added[0], added[1], km.Joint.fixed())
        one.step(10)
        ids.append((added, tie.joint, one.forest.joints.tolist(), one.hash()))
    assert ids[0] == ids[1]


def test_handles_of_what_is_in_the_snapshot_go_on_working():
    world = asleep()
    brick, ball = world.bodies[0], world.bodies[4]
    data = world.save()
    late = world.add(km.Shape.sphere(0.1), at=(3, 0, 1), name="late")
    world.remove(ball)
    world.restore(data)
    assert ball.name == "ball"
    assert ball.velocity[0] > 1.0
    assert brick.position[2] == pytest.approx(0.05, abs=1e-3)
    with pytest.raises(KeyError, match="no body 'late'"):
        _ = late.pose
    again = world.add(km.Shape.sphere(0.1), at=(3, 0, 1), name="late")
    assert again.id == late.id
    with pytest.raises(KeyError, match="no body 'late'"):
        world.remove(late)


def test_meshes_are_in_the_snapshot(tmp_path):
    from kinemorph.geometry.kept_mesh import keep_mesh

    mesh = km.mesh_of(km.Shape.box((0.3, 0.2, 0.1)))
    path = tmp_path / "brick.stl"
    path.write_bytes(keep_mesh(mesh.vertices, mesh.faces).read_bytes())
    world = km.World()
    world.add_ground()
    for i in range(20):
        world.add(km.Shape.mesh(path), at=(0.5 * i, 0, 0.2))
    world.run(0.2)
    data = world.save()
    path.unlink()
    other = km.World.load(data)
    world.run(0.2)
    other.run(0.2)
    assert world.hash() == other.hash()
    assert data.count(b'"polyhedron"') == 1  # they share it


def refused(world, data, match):
    before = world.hash()
    for read in (km.World.load, world.restore):
        with pytest.raises(km.FileError, match=match) as caught:
            read(data)
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 500
    assert world.hash() == before


def test_bytes_that_are_something_else_are_refused():
    world = asleep()
    data = world.save()
    refused(world, b"", "no snapshot")
    refused(world, b"\x80\x04\x95" + data, "no snapshot")
    refused(world, data[:-1], "cut")
    refused(world, data + b"x", "cut")
    refused(world, data[:8] + (99).to_bytes(4, "little") + data[12:], "version 99")
    refused(world, data[: HEAD + 500] + b"\xff" + data[HEAD + 501 :], "damaged")
    refused(world, data[:20], "cut")
    for k in range(HEAD):  # what the checksum does not see
        refused(world, data[:k] + bytes([data[k] ^ 1 << k % 8]) + data[k + 1 :], "no snapshot|version|cut|damaged")
    with pytest.raises(TypeError, match="bytes"):
        km.World.load("a.world")


def rewritten(data, change):
    """A snapshot whose text was changed by somebody who knows how to seal it."""
    content = content_of(data)
    size = int.from_bytes(content[:8], "little")
    text = msgspec.json.decode(content[8 : 8 + size])
    change(text)
    head = msgspec.json.encode(text)
    arrays = content[8 + size + -size % 8 :]
    return resealed(len(head).to_bytes(8, "little") + head + b" " * (-len(head) % 8) + arrays)


def test_hostile_texts_are_refused():
    world = asleep()
    data = world.save()

    def huge(text):
        text["arrays"][0][1] = [2**40]

    def many(text):
        text["arrays"][0][1] = [2**31, 2**31]

    def layout(text):
        name = next(iter(text["layouts"]))
        text["layouts"][name] += 1

    def stranger(text):
        text["things"][0][0] = "subprocess"

    def ahead(text):
        text["things"][0][1] = ["o", len(text["things"]) - 1]

    def deep(text):
        text["value"] = ["t", text["value"]]
        for _ in range(100):
            text["value"] = ["t", text["value"]]

    for change, match in (
        (huge, "cannot be"), (many, "cannot be"), (layout, "another layout"), (stranger, "unknown kind"),
        (ahead, "not there"), (deep, "values in values"),
    ):  # fmt: skip
        refused(world, rewritten(data, change), match)

    def room(text):  # a table of terabytes
        for thing in text["things"]:
            if thing[0] == "tables":
                for pair in thing[1][3][1:]:
                    pair[1][1] = 2**30  # as many rows

    refused(world, rewritten(data, room), "bytes")


@pytest.mark.parametrize("moment", SMALL)
def test_spoiled_tables_are_refused_or_harmless(moment):
    content = content_of(SMALL[moment]().save())
    loaded = 0
    for number in range(40):
        try:
            world = km.World.load(resealed(spoiled(content, np.random.default_rng([7, number]))))
        except km.FileError:
            continue
        loaded += 1
        use(world)
    assert loaded < 40


def test_every_table_of_the_solver_is_known_to_the_checks():
    tables = set(Solver()._tables._arrays)
    assert tables == set(ROOMS), "say in world/soundness.py how long a new table must be, and check its indices there"


def test_names_of_layouts_are_theirs_alone():
    for module in kept._MODULES:
        for name, value in vars(module).items():
            if isinstance(value, np.dtype) and value.names is not None:
                assert kept.LAYOUTS[name] == value, f"{name} of {module.__name__} is the name of other rows, too"


def test_the_digest_is_of_what_decides():
    world = ground()
    digest = world.hash()
    assert len(digest) == 32
    assert world.branch().hash() == digest
    other = world.branch()
    tree = int(other.forest.trees[-1])
    v = other.forest.state(tree).v
    other.forest.set_state(tree, v=np.nextafter(v, 1.0))
    assert other.hash() != digest
    other = world.branch()
    other.solver["impulses"][:] *= 0.5
    assert other.hash() != digest
    grown = world.branch()
    grown.solver._make_spans(256)
    grown.collisions._make_contacts(512)
    grown._follow_tables()
    assert grown.hash() == digest


def test_a_figure_that_is_loaded_moves_as_it_did():
    world = km.World()
    figure = world.add(arm(), at=(0, 0, 1), q=[0.3, 1, 0, 0, 0])
    data = world.save()
    world.run(0.1)
    end = figure.position("part 1")
    world.restore(data)
    world.run(0.1)
    assert np.array_equal(figure.position("part 1"), end)
    assert hashlib.sha256(world.save()).digest() != hashlib.sha256(data).digest()
