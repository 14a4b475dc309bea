"""Parts of a world: what they are, what is forwarded, and that nothing outside `world/` reads what is private."""

from __future__ import annotations

import ast
import gc
import inspect
import weakref
from pathlib import Path

import pytest

import kinemorph as km
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.world.part import Part, PartOf, forward, part_of
from kinemorph.world.queries.queries import Queries

SOURCE = Path(km.__file__).parent
PARTS = {name: found for name, found in vars(km.World).items() if isinstance(found, PartOf)}


@pytest.mark.parametrize("name", PARTS)
def test_a_part_is_of_its_world_and_holds_nothing_else(name):
    world = km.World()
    part = getattr(world, name)
    assert type(part) is PARTS[name].kind
    assert part.world is world
    assert part == getattr(world, name) != getattr(km.World(), name)
    assert not hasattr(part, "__dict__")


def test_a_world_goes_with_its_last_part():
    queries = km.World().queries
    gone = weakref.ref(queries.world)
    assert len(queries.states()) == 0  # the part keeps it
    gc.disable()
    try:
        del queries
        assert gone() is None
    finally:
        gc.enable()


def test_forwards_have_the_signature_and_the_docstring_of_the_part():
    world = km.World()
    assert inspect.signature(world.contacts) == inspect.signature(world.queries.contacts)
    assert world.contacts.__doc__ == Queries.contacts.__doc__


def test_forwards_explain_arguments_as_parts_do():
    @checked_on_failure
    class Shouts(Part):
        def shout(self, word: str) -> str:
            return word.upper()

    class Place:
        shouts = part_of(Shouts)
        shout = forward(Shouts, Shouts.shout)

    assert Place().shout("a") == Place().shouts.shout("a") == "A"
    for shout in (Place().shout, Place().shouts.shout):
        with pytest.raises(TypeError, match=r"Shouts\.shout: word is 5, and must be a string"):
            shout(5)


def test_names_of_inputs_are_unique():
    with pytest.raises(AssertionError, match="two inputs are called connect"):
        type("Other", (Part,), {"connect": Part.inputs["connect"][1]})


def private_reads(path: Path, of: frozenset[str]) -> list[str]:
    """Attributes with an underscore that a file reads of what is called so."""
    found = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            owner = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
            if owner in of:
                found.append(f"{path.relative_to(SOURCE)}:{node.lineno}: {owner}.{node.attr}")
    return found


def outside(folder: str) -> list[Path]:
    return [path for path in sorted(SOURCE.rglob("*.py")) if not path.is_relative_to(SOURCE / folder)]


def test_nothing_outside_reads_what_is_private_to_a_world():
    bounce = SOURCE / "scenes" / "bounce"  # its worlds are other ones
    files = [path for path in outside("world") if not path.is_relative_to(bounce)]
    assert [read for path in files for read in private_reads(path, frozenset({"world"}))] == []


def test_viewers_read_no_tables_of_a_forest():
    files = sorted((SOURCE / "view").rglob("*.py"))
    assert len(files) > 10
    assert [read for path in files for read in private_reads(path, frozenset({"world", "forest"}))] == []


def test_private_reads_are_found(tmp_path, monkeypatch):
    path = tmp_path / "reader.py"
    path.write_text("def f(world):\n    return world._names, self.world._header, world.names, other._x\n")
    monkeypatch.setattr(f"{__name__}.SOURCE", tmp_path)
    assert [read.split()[-1] for read in private_reads(path, frozenset({"world"}))] == ["world._names", "world._header"]
