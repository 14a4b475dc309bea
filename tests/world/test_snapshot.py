"""Snapshots: a world from bytes goes on bit for bit; bytes that are anything else are refused, and nothing changes."""

import hashlib
import re

import msgspec
import numpy as np
import pytest
from tests.hostile_files import judge
from tests.needs import linux
from tests.world.kept_worlds import (
    BUSY,
    SMALL,
    arm,
    asleep,
    content_of,
    ground,
    probe,
    released,
    resealed,
    spoiled,
    use,
)

import kinemorph as km
from kinemorph.contact.solver import Solver
from kinemorph.structure.forest.layout import IN_USE, TREES
from kinemorph.world.layout import Status
from kinemorph.world.persistence import kept_classes
from kinemorph.world.persistence.codec import PLAIN, Reader
from kinemorph.world.persistence.snapshot import SNAPSHOT_HEAD_BYTES
from kinemorph.world.persistence.validation import ROOMS


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
    from kinemorph.geometry.meshes.kept_mesh import keep_mesh

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
    refused(world, data[: SNAPSHOT_HEAD_BYTES + 500] + b"\xff" + data[SNAPSHOT_HEAD_BYTES + 501 :], "damaged")
    refused(world, data[:20], "cut")
    for k in range(SNAPSHOT_HEAD_BYTES):  # what the checksum does not see
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

    def twice(text):  # an array in two places would be as large as one, and count as two
        places = [pair for thing in text["things"] if thing[0] == "tables" for pair in thing[1][3][1:]]
        places[0][1][2] = places[1][1][2]

    refused(world, rewritten(data, twice), "two places")


@linux
@pytest.mark.parametrize("seed", range(4))
def test_no_sum_of_tables_takes_memory_on_the_word_of_a_file(seed):
    """Each table below a limit of its own, and all of them together gigabytes: a short file, in a child process."""
    rng = np.random.default_rng(seed)
    make = list({**SMALL, **BUSY}.values())[seed]

    def rooms(text):
        owners = [thing for thing in text["things"] if thing[0] == "tables"]
        for owner in owners:
            for pair in owner[1][3][1:]:
                if rng.random() < 0.7:
                    size = np.dtype(
                        PLAIN.get(kind := text["arrays"][pair[1][2][1]][0]) or kept_classes.LAYOUTS[kind]
                    ).itemsize
                    pair[1][1] = int(rng.integers(2**25, 2**27)) // size  # rows

    data = rewritten(make().save(), rooms)
    assert len(data) < 100_000
    assert judge(lambda path: km.World.load(path.read_bytes()), data) == ""
    with pytest.raises(km.FileError, match=r"its tables would take \d+ bytes, and \d+ are allowed"):
        km.World.load(data)


@pytest.mark.parametrize("moment", [*MOMENTS, *BUSY])
def test_what_is_saved_is_far_from_the_bound_of_memory(moment):
    data = {**MOMENTS, **BUSY}[moment]().save()
    reader = Reader(kept_classes.KEPT, kept_classes.LAYOUTS)
    reader.read(content_of(data))
    assert 0 < reader.room < reader.allowed / 100


def twins(seed):
    """Two worlds that go the same way: with events of all kinds, or with some about a random heap of bodies."""
    world = BUSY["waiting"]() if seed == 0 else km.World()
    rng = np.random.default_rng(seed)
    if seed:
        world.add_ground()
        for _ in range(16):
            shape = (km.Shape.sphere(0.1), km.Shape.box((0.1, 0.2, 0.1)))[int(rng.integers(2))]
            body = world.add(shape, at=(*rng.uniform(-1, 1, 2), rng.uniform(0.1, 3)))
            event = (km.Event.sleep, km.Event.contact)[int(rng.integers(2))]
            world.when(event(body, direction=int(rng.integers(-1, 2))))
        world.step(int(rng.integers(20)))
    released(world)
    return world, world.branch()


def listed(text):
    """The events in the text of a snapshot, as lists."""
    (events,) = [thing for thing in text["things"] if thing[0] == "events"]
    return events[1][1][1:]


@linux
def test_a_refused_restore_leaves_the_world_as_it_was():
    """An event of another kind made a restore fail half-way, and the next hash died."""

    def try_all(path):
        world = asleep()
        world.when(km.Event.sleep("ball"))
        data = world.save()
        before = world.hash()
        for kind in range(-1, 15):

            def change(text, kind=kind):
                listed(text)[0][5] = kind

            try:
                world.restore(rewritten(data, change))
            except km.FileError:
                assert world.hash() == before
            else:
                world.hash()
                world.restore(data)
        world.step(3)

    assert judge(try_all, b"") == ""


@linux
@pytest.mark.parametrize("seed", range(3))
def test_any_field_of_any_event_is_refused_with_nothing_changed_or_harmless(seed):
    """In a child process: a field of an event of any kind at a time. `tests.hostile_files` spoils all other tables."""
    values = (-2, -1, 0, 1, 2, 6, 7, 13, 2**31, 2**62, 2**63, 1e308, None, True, "x", ["t"], ["l"], ["f", "nan"])

    def try_all(path):
        rng = np.random.default_rng(seed)
        world, twin = twins(seed)
        data = world.save()
        count, accepted = 0, 0
        kinds = 12 * np.arange(16) + 4
        for place in [*kinds.tolist(), *rng.permutation(16 * 12)[:30].tolist()]:

            def change(text, place=place):
                event, field = listed(text)[place // 12], 1 + place % 12
                value = values[int(rng.integers(len(values)))] if place not in kinds else int(rng.integers(-1, 15))
                if isinstance(event[field], list) and len(event[field]) > 1 and rng.random() < 0.7:
                    event[field][int(rng.integers(1, len(event[field])))] = value
                else:
                    event[field] = value

            spoiled = rewritten(data, change)
            count += 1
            try:
                other = km.World.load(spoiled)
            except km.FileError as error:
                with pytest.raises(km.FileError, match=re.escape(str(error))):
                    world.restore(spoiled)
                world.step(1)
                twin.step(1)
                assert world.hash() == twin.hash()
                continue
            accepted += 1
            released(other)
            probe(other)
            use(other)
        assert 0 < accepted < count

    assert judge(try_all, b"") == ""


def test_a_step_that_fails_after_trees_have_gone_blames_none_of_them():
    """The header still names the tree of an earlier step, which may be part of another by now."""
    world = km.World(gravity=(0, 0, 0))
    ball, other = (world.add(km.Shape.sphere(0.1), at=(x, 0, 0)) for x in (0.0, 0.2))
    world.connect(other, ball, km.Joint.fixed())
    gone = [t for t in range(2) if world.forest._tables[TREES]["next"][t] != IN_USE]
    assert len(gone) == 1
    world._header["tree"] = gone[0]
    with pytest.raises(km.WorldError, match="something"):
        world._complain(Status.BAD_BOX)


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
    assert tables == set(ROOMS), (
        "say in world/persistence/validation.py how long a new table must be, and check its indices there"
    )


def test_names_of_layouts_are_theirs_alone():
    for module in kept_classes._MODULES:
        for name, value in vars(module).items():
            if isinstance(value, np.dtype) and value.names is not None:
                assert kept_classes.LAYOUTS[name] == value, (
                    f"{name} of {module.__name__} is the name of other rows, too"
                )


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
    grown.solver._make_slices(256)
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
