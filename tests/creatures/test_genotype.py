"""Genotypes as values and files: what is written comes back, and what is bad gets one sentence."""

from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinemorph._files import FileError
from kinemorph.creatures import (
    Connection,
    Form,
    Genotype,
    NeuronGene,
    Node,
    Settings,
    load_genotype,
    random_genotype,
    save_genotype,
)
from kinemorph.creatures.genotype.genotype import LARGEST_GENOTYPE_BYTES, MOST_NODES

HEAD = '"schema": "kinemorph.genotype", "version": 1'
seeds = st.integers(0, 2**32 - 1)


@given(seeds)
def test_what_is_written_comes_back_bit_for_bit(seed: int) -> None:
    genotype = random_genotype(seed, Settings(forms=tuple(Form)))
    text = genotype.to_json()
    again = Genotype.from_json(text)
    assert again == genotype
    assert again.to_json() == text
    assert again.key == genotype.key


def test_a_file_is_readable_and_comes_back(tmp_path: Path) -> None:
    genotype = random_genotype(7)
    path = save_genotype(genotype, tmp_path / "creature.json")
    assert load_genotype(path) == genotype
    lines = path.read_text().splitlines()
    assert len(lines) > 50
    assert lines[1].strip() == '"schema": "kinemorph.genotype",'


def test_keys_tell_genotypes_apart_and_whole_numbers_are_numbers() -> None:
    a, b = Node(size=(1, 1, 1)), Node(size=(1.0, 1.0, 1.0))
    assert Genotype(nodes=(a,)).key == Genotype(nodes=(b,)).key
    assert len({random_genotype(i).key for i in range(50)}) == 50


def test_junk_is_kept() -> None:
    """A root has a joint that nothing uses, and a node of one degree of freedom has three axes."""
    genotype = random_genotype(3)
    root = genotype.nodes[0]
    assert len(root.axes) == len(root.limits) == len(root.effectors) == 3
    assert Genotype.from_json(genotype.to_json()).nodes[0] == root


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "truncated"),
        ("[1]", "expected `object`"),
        ('{"nodes": [{}]}', "missing required field `schema`"),
        ('{"schema": "sdf", "version": 1, "nodes": [{}]}', "schema: invalid enum value 'sdf'"),
        ('{"schema": "kinemorph.genotype", "version": 2, "nodes": [{}]}', "version: invalid enum value 2"),
        (f"{{{HEAD}}}", "missing required field `nodes`"),
        (f'{{{HEAD}, "nodes": []}}', "nodes: expected `array` of length >= 1"),
        (f'{{{HEAD}, "nodes": [{{"sise": [1, 1, 1]}}]}}', "nodes[0]: object contains unknown field `sise`"),
        (f'{{{HEAD}, "nodes": [{{"size": [1, null, 1]}}]}}', "nodes[0].size[1]: expected `float`, got `null`"),
        (f'{{{HEAD}, "nodes": [{{"size": [1, NaN, 1]}}]}}', "invalid character"),
        (f'{{{HEAD}, "nodes": [{{"size": [1, 1e999, 1]}}]}}', "nodes[0].size[1]: number out of range"),
        (f'{{{HEAD}, "nodes": [{{"size": [1, 0, 1]}}]}}', "nodes[0].size[1]: expected `float` >= 0.001"),
        (f'{{{HEAD}, "nodes": [{{"dof": 4}}]}}', "nodes[0].dof: expected `int` <= 3"),
        (f'{{{HEAD}, "nodes": [{{"form": "dodecahedron"}}]}}', "nodes[0].form: invalid enum value 'dodecahedron'"),
        (f'{{{HEAD}, "nodes": [{{"axes": [[1,0,0],[0.9,0,0],[0,0,1]]}}]}}', "nodes[0].axes[1]"),
        (f'{{{HEAD}, "nodes": [{{"axes": [[1,0,0],[1,0,0],[0,0,1]]}}]}}', "not more than 30° apart"),
        (f'{{{HEAD}, "nodes": [{{"limits": [[1,1],[-1,1],[-1,1]]}}]}}', "nodes[0].limits[0]: the lower one, 1.0"),
        (f'{{{HEAD}, "nodes": [{{"neurons": [{{"function": "dream"}}]}}]}}', "there is no 'dream'"),
        (f'{{{HEAD}, "nodes": [{{}}], "connections": [{{"parent": 0, "child": 1}}]}}', "there is no node 1"),
        (
            f'{{{HEAD}, "nodes": [{{}}], "connections": [{{"parent": 0, "child": 0, "direction": [0, 0, 0]}}]}}',
            "connections[0].direction: (0.0, 0.0, 0.0) is not of length 1",
        ),
        (f'{{{HEAD}, "nodes": [{", ".join(["{}"] * (MOST_NODES + 1))}]}}', "nodes: expected `array` of length <= 64"),
        ("[" * 100_000, "expected `object`"),
        (f'{{{HEAD}, "nodes": [{{}}]}} trailing', "trailing"),
        (" " * (LARGEST_GENOTYPE_BYTES + 1), f"the limit is {LARGEST_GENOTYPE_BYTES}"),
        (f'{{{HEAD}, "nodes": [{{"size": [1, 1, 1], "dof": 2, "size": [2, 2, 2]}}]}}', "`size` is said 2 times"),
        (f'{{{HEAD}, "nodes": [{{}}], "nodes": [{{}}]}}', "`nodes` is said 2 times in one object; say it once"),
        (f'{{{HEAD}, "version": 2, "nodes": [{{}}]}}', "version: invalid enum value 2"),
        (
            f'{{{HEAD}, "nodes": [{{"neurons": [{", ".join(["{}"] * 100_000)}]}}]}}',
            "neurons: expected `array` of length",
        ),
        (f'{{{HEAD}, "nodes": {"[" * 400_000}', "recursion"),
    ],
)
def test_bad_files_get_one_sentence_that_names_the_place(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(FileError) as caught:
        load_genotype(path)
    said = str(caught.value)
    assert said.startswith(f"{path}: ")
    assert words in said
    assert "\n" not in said
    assert len(said) < 1200


def test_bytes_are_counted_also_where_a_character_has_four() -> None:
    text = f'{{{HEAD}, "nodes": [{{}}], "name": "{"𝄞" * (LARGEST_GENOTYPE_BYTES // 4)}"}}'
    assert len(text) < LARGEST_GENOTYPE_BYTES
    with pytest.raises(
        FileError, match=f"genotype: it has {len(text.encode())} bytes, the limit is {LARGEST_GENOTYPE_BYTES}"
    ):
        Genotype.from_json(text)
    with pytest.raises(FileError, match="surrogates not allowed"):
        Genotype.from_json(text[:80] + "\ud800")


@given(st.data())
def test_damaged_files_are_read_as_what_they_say_or_refused(data: st.DataObject) -> None:
    text = bytearray(random_genotype(11).to_json().encode())
    for _ in range(data.draw(st.integers(1, 4))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    try:
        genotype = Genotype.from_json(bytes(text))
    except FileError:
        return  # any other error fails
    assert Genotype.from_json(genotype.to_json()) == genotype


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e9, "1"])
def test_numbers_that_make_no_sense_do_not_get_in_by_hand(bad: object) -> None:
    with pytest.raises(ValueError, match=r"nodes\[0\].size\[0\]"):
        Genotype(nodes=(Node(size=(bad, 1.0, 1.0)),)).checked()  # type: ignore[arg-type]


def test_a_genotype_never_changes() -> None:
    genotype = random_genotype(1)
    with pytest.raises(AttributeError):
        genotype.nodes = ()  # type: ignore[misc]
    assert hash(genotype) == hash(Genotype.from_json(genotype.to_json()))


def test_defaults_are_those_of_a_file_that_says_little() -> None:
    said = Genotype.from_json(
        f'{{{HEAD}, "nodes": [{{"neurons": [{{}}]}}], "connections": [{{"parent": 0, "child": 0}}]}}'
    )
    assert said == Genotype(nodes=(Node(neurons=(NeuronGene(),)),), connections=(Connection(0, 0),))
    assert msgspec.json.decode(said.to_json())["version"] == 1
    assert np.isfinite(said.nodes[0].size).all()
