"""The manual says what is so: tables are current, calls exist, every name and option is in it, examples run."""

from __future__ import annotations

import importlib
import json
import re
import shlex
import tomllib
import warnings
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import pytest
import tyro
from tools import bill, tables
from tools.contact_sheet import CAPTION, COLUMNS, HEIGHT, WIDTH
from tools.index_page import index_page

import kinemorph as km
from kinemorph import cli
from kinemorph._command_line import parse_command
from kinemorph.creatures.gallery import HANDMADE
from kinemorph.scenes.files.scene import shipped
from kinemorph.scenes.gallery import DEMOS
from kinemorph.world.part import PartOf

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = {page.stem for page in DOCS.glob("*.md")}


def test_tables_are_as_they_would_be_made() -> None:
    assert tables.stale() == [], "make tables"


def test_a_table_that_is_wrong_is_noticed() -> None:
    page = (DOCS / "command.md").read_text("utf-8")
    assert tables.made(page.replace("--step-size", "--stepsize")) == page


def test_every_page_is_linked_from_the_readme_and_listed_in_the_index() -> None:
    readme = set(re.findall(r"\(docs/(\w+)\.md\)", (ROOT / "README.md").read_text("utf-8")))
    index = set(re.findall(r"^(\w+)$", (DOCS / "index.md").read_text("utf-8"), re.MULTILINE))
    assert readme == PAGES - {"index"}
    assert index == PAGES - {"index"}


def test_every_public_name_is_in_the_reference() -> None:
    page = (DOCS / "api.md").read_text("utf-8")
    blocks = re.findall(r"^```{names}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert sorted(name for block in blocks for name in block.split()) == list(km.__all__)


def sections() -> dict[str, set[str]]:
    """What the page on the command says that each one takes: options by their names, and places in capitals."""
    page = (DOCS / "command.md").read_text("utf-8").partition("## Every option")[2]
    found = re.split(r"^### (.+)$", page, flags=re.MULTILINE)[1:]
    return {
        name: {word for row in re.findall(r"^\| `(.+?)` \|", text, re.MULTILINE) for word in _taken(row)}
        for name, text in zip(found[::2], found[1::2], strict=True)
    }


def _taken(row: str) -> list[str]:
    return re.findall(r"--[\w-]+", row) or [re.sub(r"\W", "", row.partition(" ")[0])]


def test_the_manual_lists_every_command_and_option() -> None:
    every = {name: function for name, function in cli.COMMANDS.items() if name != "creature"}
    every |= {f"creature {name}": function for name, function in cli.CREATURES.items()}
    page = sections()
    assert page.keys() == every.keys()
    for name, function in every.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of get_parser, which has no successor yet
            parser = tyro.extras.get_parser(function)
        assert f"`kinemorph {name.partition(' ')[0]}" in (DOCS / "command.md").read_text("utf-8")
        taken = {word for action in parser._actions for word in action.option_strings or [action.dest.upper()]}
        assert page[name] <= taken
        assert {*map(_switch, page[name])} == {*map(_switch, taken)} - {"-h", "--help"}


def commands_told() -> set[str]:
    """Every command that the README and the manual tell one to type, without those that leave something to fill in."""
    found = set()
    for page in (ROOT / "README.md", *DOCS.rglob("*.md")):
        text = page.read_text("utf-8")
        typed = [
            line.removeprefix("$ ").partition(" #")[0]
            for block in re.findall(r"^```(?:sh|console|text)?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
            for line in block.splitlines()
        ]
        typed += re.findall(r"`(kinemorph [^`\n]+)`", text)
        found |= {line.strip() for line in typed if line.startswith("kinemorph ")}
    return {line for line in found if not re.search(r"\[|\.\.\.|…|\b[A-Z]{2,}\b|\||,", line)}


def test_commands_that_the_manual_tells_are_understood() -> None:
    told = commands_told()
    assert len(told) > 60
    for line in told:
        _, *words = shlex.split(line)
        known = cli.CREATURES if words[0] == "creature" else cli.COMMANDS
        words = words[1:] if words[0] == "creature" else words
        if len(words) > 1:  # else it is only named
            parse_command(known, words, "kinemorph", None)
        if words[0] in ("demo", "view"):
            for before, word in pairwise(words):  # what follows an option may be its value
                if re.fullmatch(r"[a-z_0-9]+", word) and not before.startswith("--"):
                    assert word in {*DEMOS, *HANDMADE, *shipped()}, line


def _switch(word: str) -> str:
    """A switch, whichever way it is turned."""
    return re.sub("^--no-", "--", word)


OBJECTS = {
    "b": km.Builder, "body": km.Body, "km": km, "model": km.Model, "recording": km.Recording, "robot": km.Figure,
    "world": km.World,
}  # fmt: skip


def guide() -> dict[str, list[tuple[str, str]]]:
    """The rows of the guide, by engine: calls there, and calls here."""
    _, *parts = re.split(r"^## (.+)$", (DOCS / "coming_from.md").read_text("utf-8"), flags=re.MULTILINE)
    rows = {
        name: re.findall(r"^\| (.+) \| (.+) \|$", text, re.MULTILINE) for name, text in zip(parts[::2], parts[1::2])
    }
    return {name: found[2:] for name, found in rows.items()}  # without the heading and the line below it


def test_the_guide_has_forty_calls_of_each_engine() -> None:
    assert guide().keys() == {"MuJoCo", "Pinocchio", "PyBullet"}
    for engine, rows in guide().items():
        assert len({call for there, _ in rows for call in re.findall(r"`([\w.]+)", there)}) >= 40, engine


def _peers() -> dict[str, dict[str, object]]:
    """What the first word of a call in the guide stands for; "" is the engine itself."""
    mujoco, pinocchio = pytest.importorskip("mujoco"), pytest.importorskip("pinocchio")
    importlib.import_module("mujoco.rollout"), importlib.import_module("pinocchio.visualize")
    spec = mujoco.MjSpec()
    model = spec.compile()
    ours = {"model": model, "data": mujoco.MjData(model), "spec": spec, "": mujoco}
    theirs = {"model": pinocchio.Model(), "data": pinocchio.Model().createData(), "": pinocchio}
    return {"MuJoCo": ours, "Pinocchio": theirs}


def test_calls_of_other_engines_are_called_so_there() -> None:
    """PyBullet has no wheel for today's Python, and MuJoCo's viewers are another package."""
    for engine, objects in _peers().items():
        calls = [call for there, _ in guide()[engine] for call in re.findall(r"`([\w.]+)", there)]
        assert len(calls) >= 40
        for call in calls:
            first, *rest = call.split(".")
            if (engine, first) == ("MuJoCo", "viewer"):
                continue
            thing = objects[first] if first in objects else getattr(objects[""], first, None)
            assert thing is not None, f"{engine}: {call}"
            for name in rest:
                assert hasattr(thing, name), f"{engine}: {call}"
                thing = getattr(thing, name)


def test_calls_that_stand_beside_those_of_other_engines_exist() -> None:
    cells = [here for rows in guide().values() for _, here in rows]
    calls = [call for cell in cells for call in re.findall(r"`((?:\w+)\.[\w.]+)", cell)]
    calls = [call for call in calls if call[:2] != "a."]  # of a pose that is called so
    assert len(calls) > 100
    for call in calls:
        first, *rest = call.split(".")
        thing: object = OBJECTS[first]
        for name in rest:
            fields = {*getattr(thing, "__annotations__", {}), *getattr(thing, "__slots__", ())}
            assert hasattr(thing, name) or name in fields, call
            thing = getattr(thing, name, None)
            thing = thing.kind if isinstance(thing, PartOf) else thing


def test_what_the_guide_says_can_be_set_can_be_set() -> None:
    """And what it says is set once cannot."""
    world, cells = km.World(), [here for rows in guide().values() for _, here in rows]
    pattern = r"`world\.(\w+)`, which (can be set|`km\.World\(\w+=[\w.-]+\)` sets once)"
    said = [re.findall(pattern, cell) for cell in cells]
    found = dict(pair for pairs in said for pair in pairs)
    assert found.keys() == {"dt", "gravity"}
    for name, how in found.items():
        value = getattr(world, name)
        if how == "can be set":
            setattr(world, name, value)
        else:
            with pytest.raises(AttributeError):
                setattr(world, name, value)
            assert getattr(km.World(**{name: 1e-3}), name) == 1e-3
    assert sum("can be set" in cell for cell in cells) == list(found.values()).count("can be set")


def test_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for file in sorted((ROOT / "examples").glob("*.py")):
        assert f"python examples/{file.name}" in file.read_text("utf-8")
    log = _example("let_go").main(tmp_path)
    assert [stretch.model.nv for stretch in log.stretches] == [2, 7]
    assert _example("catch").main(tmp_path).top == pytest.approx(1.79, abs=0.02)
    assert _example("four_bar").main(tmp_path).loop_error.max() < 1e-10
    heights = _example("what_if").main()
    assert heights[0] > 0.5 > 0.1 > heights[-1]
    assert {path.suffix for path in tmp_path.iterdir()} == {".html"}


def _example(name: str) -> object:
    return importlib.import_module(f"examples.{name}")


def test_every_extra_is_told_of() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    told = re.findall(r"^\| `(\w+)` \|", (DOCS / "install.md").read_text("utf-8"), re.MULTILINE)
    assert set(told) == extras.keys() - {"peers", "dev"}


def test_the_version_is_said_in_one_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert "version" in project["project"]["dynamic"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/kinemorph/__init__.py"
    assert project["project"]["optional-dependencies"]["fast"] == [f"kinemorph-kernels=={km.__version__}.*"]
    assert "\nversion:" not in (ROOT / "CITATION.cff").read_text("utf-8")


def test_the_sheet_of_demonstrations_has_all_of_them() -> None:
    from matplotlib.image import imread

    sheet = imread(DOCS / "_static" / "demonstrations.png")[:, :, :3]
    rows = -(-len(DEMOS) // COLUMNS)
    assert sheet.shape == (rows * (HEIGHT + CAPTION), COLUMNS * WIDTH, 3), "make pictures"
    for k, name in enumerate(DEMOS):
        y, x = (HEIGHT + CAPTION) * (k // COLUMNS), WIDTH * (k % COLUMNS)
        assert sheet[y + CAPTION : y + CAPTION + HEIGHT, x : x + WIDTH].std() > 0.02, name


class Links(HTMLParser):
    """What a page leads to, and what it loads."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.leads: list[str] = []
        self.loads: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name in ("href", "src"):
                (self.leads if tag == "a" else self.loads).append(value or "")


def test_the_page_of_all_that_was_made_is_complete_and_sealed(tmp_path: Path) -> None:
    said: list[object] = []
    DEMOS["swing"].show(tmp_path, said.append)
    page = index_page(tmp_path).read_text("utf-8")
    links = Links(page)
    assert {unquote(link) for link in links.leads} == {"swing.html", "swing.png", "swing_energy.png"}
    assert len(links.loads) == 1
    assert links.loads[0].startswith("data:image/jpeg;base64,")
    assert "default-src 'none'" in page
    assert "http" not in page.replace("http-equiv", "")
    assert DEMOS["swing"].sentence in page
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="there is no replay to make a page of"):
        index_page(tmp_path / "empty")


def test_the_bill_of_materials_has_every_package_of_the_lock() -> None:
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    made = bill.bill(lock)
    assert len(made["components"]) == len(re.findall(r"^\S+==", lock, re.MULTILINE))
    numpy = next(part for part in made["components"] if part["name"] == "numpy")
    assert numpy["purl"] == f"pkg:pypi/numpy@{numpy['version']}"
    assert all(re.fullmatch(r"[0-9a-f]{64}", one["content"]) for one in numpy["hashes"])
    assert json.loads(json.dumps(made)) == made
    with pytest.raises(ValueError, match=r"left-pad 1\.0 has no hash"):
        bill.bill("left-pad==1.0\n")
