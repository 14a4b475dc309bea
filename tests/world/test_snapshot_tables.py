"""Rows of the tables in a snapshot: what the next call computes anyway is not taken from a file, whatever it says."""

import numpy as np
import pytest
from tests.hostile_files import judge
from tests.mutators import content_of, parts_of
from tests.needs import linux
from tests.world.kept_worlds import BUSY, SMALL, released, resealed, use

import kinemorph as km
from kinemorph.structure.forest.forest import TRANSIENT_FIELDS
from kinemorph.world.persistence.kept_classes import LAYOUTS
from kinemorph.world.persistence.snapshot import SNAPSHOT_HEAD_BYTES

MAKE = {**SMALL, **BUSY}
SLOTS = [name for name in LAYOUTS if name.endswith("_SLOT")]
FIELDS = [(slot, field) for slot in SLOTS for field in sorted(TRANSIENT_FIELDS.intersection(LAYOUTS[slot].names))]
VALUES = (1, 2, 3, 7, 2**31 - 1, -1, -(2**31))


@linux
@pytest.mark.filterwarnings("ignore:world. at .* there are bodies deep in each other")
@pytest.mark.parametrize("moment", MAKE)
def test_notes_of_passing_calls_in_a_file_change_nothing(moment):
    """A tree that was marked as one of the first collection was not in it, and an edit read far outside of a vector."""
    world = MAKE[moment]()
    data, digest = world.save(), world.hash()
    twin = km.World.load(data)
    released(twin)
    use(twin)
    after = twin.hash()

    def try_all(path):
        rng = np.random.default_rng(8)
        for slot, field in FIELDS:
            text, arrays = parts_of(data[SNAPSHOT_HEAD_BYTES:])
            for (name, _), rows in zip(text["arrays"], arrays, strict=True):
                if name == slot:
                    rows[field] = rng.choice(VALUES, len(rows))
            world = km.World.load(resealed(content_of(text, arrays)))
            assert world.hash() == digest, (slot, field)
            released(world)
            use(world)
            assert world.hash() == after, (slot, field)

    assert len(FIELDS) >= 8
    assert judge(try_all, b"") == ""


@linux
@pytest.mark.parametrize("field", ["joint", "source"])
def test_a_drive_of_a_joint_beyond_the_table_is_refused(field):
    """Handles looked for it there, and raised IndexError; those of joints that are gone stay."""
    builder = km.Builder("arm")
    for i in range(3):
        joint = km.Joint.revolute("y", name=f"j{i}")
        builder.link(f"l{i}", f"l{i - 1}" if i else None, joint, inertia=km.Inertia.sphere(1.0, 0.1))
    world = km.World()
    arm = world.add(builder.build())
    world.motor(arm.joint("j0"), 1.0)
    world.drives.couple(arm.joint("j2"), arm.joint("j1"))
    world.motor(world.connect(None, world.add(km.Shape.sphere(0.1), at=(1, 0, 0)), km.Joint.revolute("z")), 1.0)
    world.remove(next(body for body in world.bodies if body.name not in {"l0", "l1", "l2"}))
    data = world.save()
    assert len(km.World.load(data).drives) == len(world.drives) == 2

    def try_all(path):
        for row in range(3):
            for index in (8, 16, 17, 1000, 2**31, 2**32 - 1):
                text, arrays = parts_of(data[SNAPSHOT_HEAD_BYTES:])
                for (name, _), rows in zip(text["arrays"], arrays, strict=True):
                    if name == "DRIVE":
                        rows[field][row] = index
                with pytest.raises(km.FileError, match="joints that are driven"):
                    km.World.load(resealed(content_of(text, arrays)))

    assert judge(try_all, b"") == ""
