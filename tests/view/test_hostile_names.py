"""Names from files are text wherever they are shown: in the viewer, on pages, in notebooks, plots and terminals."""

from __future__ import annotations

import io
import json
import re
import time
import warnings
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np
import pytest
from tests.browser import Visit, visit
from tests.hostile_names import NAMES, hostile, in_xml

import kinemorph as km
from kinemorph._escaping import PLOT_CHARACTERS, SHOWN_CHARACTERS, in_html, in_plot, in_terminal, lines, plain, terminal
from kinemorph.brain import Acted, Brain, Effect, Sense, Sensed
from kinemorph.scenes.files.scene import load_scene
from kinemorph.view.live.viewer import Viewer
from kinemorph.view.pictures.brain_graph import plot_brain
from kinemorph.view.pictures.captions import titled
from kinemorph.view.pictures.plots import over_time
from kinemorph.view.recordings.recording import Body, Recording
from kinemorph.view.replays.replay import replay

EVERY = (*NAMES, *hostile(300, 33))


# ------------------------------------------------------------------------------------------------- each way of escaping


class Texts(HTMLParser):
    """The tags of a page, and its texts."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, attrs))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def parsed(page: str) -> Texts:
    reader = Texts()
    reader.feed(page)
    reader.close()
    return reader


@pytest.mark.parametrize("part", range(4))
def test_escaped_names_are_one_text_each(part: int) -> None:
    for name in EVERY[part::4]:
        shown = plain(name)
        assert "\n" not in shown
        assert shown == plain(shown)
        assert not any(c < " " or "\x7f" <= c < "\xa0" or c in "\u202e\u2066\u2028\u2029\ufeff" for c in shown)
        shown.encode()  # no halves of pairs
        assert len(name) > 50 or shown != "" or name == ""
        page = parsed(f'<p title="{in_html(name)}">{in_html(name)}</p>')
        assert page.tags == [("p", [("title", shown)])]
        assert "".join(page.texts) == shown
    assert len(plain("x" * 10**6)) == SHOWN_CHARACTERS
    assert lines("a\nb\x1b") == "a\nb\\x1b"


@pytest.mark.parametrize("part", range(4))
def test_terminals_print_them_as_they_are(part: int) -> None:
    console = terminal()
    console.file = io.StringIO()
    names = EVERY[part::4]
    for one, other in zip(names, (*names[1:], "]"), strict=True):  # together they might be a tag
        text = console.render_str(
            f"{in_terminal(one)}: {in_terminal(other)} [bold]{in_terminal(one)}[/] and [bold]more[/]"
        )
        shown = f"{plain(one)}: {plain(other)} {plain(one)} and more"
        assert re.sub(r"\\+", r"\\", text.plain) == re.sub(r"\\+", r"\\", shown)  # some are doubled
        assert [str(span.style) for span in text.spans] == ["bold", "bold"]
        console.print(f"[bold]{in_terminal(one)}[/]", end="\n\n")
    written = console.file.getvalue()
    assert "\x1b" not in written.replace("\x1b[1m", "").replace("\x1b[0m", "")


def test_plots_set_no_mathematics_and_lose_no_label(tmp_path: Path) -> None:
    """`$x$` was typeset, `$\\frac{1}{$` raised, and a curve named `_hidden` was not in the legend."""
    from matplotlib.text import Text

    for name in EVERY:
        text = Text(0.0, 0.0, in_plot(name))
        shown, mathematics = text._preprocess_math(text.get_text())
        assert mathematics is False
        assert shown.lstrip(" ") == plain(name, PLOT_CHARACTERS).lstrip(" ")
    t = np.linspace(0.0, 1.0, 3)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")
        figure = over_time(t, {NAMES[11]: {name: t for name in ("_hidden", NAMES[11], NAMES[12])}}, "".join(NAMES))
        assert len(figure.axes[0].get_legend().get_texts()) == 3
        figure.savefig(io.BytesIO(), dpi=20)
        senses = [Sense(Sensed.ANGLE, name) for name in NAMES]
        effects = [Effect(Acted.TORQUE, name) for name in NAMES]
        plot_brain(tmp_path / "brain.png", Brain(senses=senses, effects=effects), NAMES[11])


def test_pictures_have_them_in_one_line() -> None:
    """A line end in a name raised ValueError."""
    image = np.full((60, 200, 3), 255, np.uint8)
    for name in EVERY[::5]:
        assert titled(image, name).shape == image.shape


# --------------------------------------------------------------------------------------------------- files of all kinds

LINK = (
    '<link name={}><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>{}'
)
BALL = "<collision name={}><geometry><sphere><radius>0.1</radius></sphere></geometry></collision>"


def urdf(names: list[str]) -> str:
    """A chain whose links and joints have names."""
    q = [*map(quoteattr, names)]
    ball = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
    links = "".join(LINK.format(name, ball + "</link>") for name in q)
    joints = "".join(
        f'<joint name={child} type="revolute"><parent link={parent}/><child link={child}/><axis xyz="0 1 0"/>'
        '<origin xyz="0 0 0.3"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
        for parent, child in pairwise(q)
    )
    return f"<robot name={q[0]}>{links}{joints}</robot>"


def sdf(names: list[str]) -> str:
    q = [*map(quoteattr, names)]
    links = "".join(
        f"<link name={name}><pose>0 0 {0.3 * k} 0 0 0</pose><inertial><mass>1</mass></inertial>"
        f"{BALL.format(name)}</link>"
        for k, name in enumerate(q)
    )
    return f'<sdf version="1.7"><model name={q[0]}>{links}</model></sdf>'


def mjcf(names: list[str]) -> str:
    bodies = "".join(
        f'<body name={name} pos="0 {0.3 * k} 1"><freejoint name={name}/><geom name={name} size="0.1"/></body>'
        for k, name in enumerate(map(quoteattr, names))
    )
    return f"<mujoco model={quoteattr(names[0])}><worldbody>{bodies}</worldbody></mujoco>"


NAME_OF_SCENES = re.compile(r"[^\x00-\x1f\x7f/\ud800-\udfff]{1,100}")


def toml(names: list[str]) -> str:
    """A scene of bodies that are joined, and cut by an event, all with names."""

    def told(name: str) -> str:
        return '"' + "".join(c if c.isalnum() or c in " <>'=./" else f"\\U{ord(c):08X}" for c in name) + '"'

    bodies = "".join(
        f"[[body]]\nname = {told(name)}\nsphere = 0.1\nat = [3.0, {0.3 * k}, 1.0]\n" for k, name in enumerate(names)
    )
    return f"name = {told(names[0])}\nabout = {told(names[1])}\nseconds = 0.2\n[[ground]]\n{bodies}"


def mixed(folder: Path) -> km.World:
    """A world of files of all kinds."""
    written = [name for name in in_xml(NAMES) if len(name) < 500 and "\n" not in name and "\t" not in name]
    (folder / "scene.toml").write_text(toml([*filter(NAME_OF_SCENES.fullmatch, NAMES)]), "utf-8")
    world = load_scene(folder / "scene.toml").world
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k, (end, text) in enumerate((("urdf", urdf), ("sdf", sdf), ("xml", mjcf))):
            (folder / f"model.{end}").write_text(text([f"{n} {end}" for n in written]), "utf-8")
            model = (
                km.load_mjcf(folder / "model.xml")
                if end == "xml"
                else getattr(km, f"load_{end}")(folder / f"model.{end}")
            )
            world.add(model, at=(-2.0 * k, 0.0, 1.0))
    return world


WATCH = """
window.hit = undefined; window.refused = [];
document.addEventListener("securitypolicyviolation", event => window.refused.push(event.violatedDirective));
"""
FOUND = """() => [window.hit ?? null, window.refused.filter(each => !each.startsWith("connect")).length,
    document.querySelectorAll("iframe, object, embed, img[src='x'], a[href*='evil'], a[href^='javascript']").length,
    [...document.querySelectorAll("*")].filter(e => [...e.attributes].some(a => a.name.startsWith("on"))).length]"""


SHOWN = "wanted => [...document.querySelectorAll('b')].some(b => b.innerText.replace(/ +/g, ' ').trim() == wanted)"


def watched(opened: Visit, address: str) -> None:
    """Open a page, and see what it does from its start."""
    opened.page.add_init_script(WATCH)
    opened.page.goto(address, timeout=120_000)
    opened.page.locator("canvas").first.wait_for(timeout=120_000)


def pump(v: Viewer, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        v.sync(until=time.monotonic() + 0.05)


def test_the_viewer_runs_nothing_that_is_in_a_name(tmp_path: Path) -> None:
    """A body that was called `<iframe srcdoc=...>` ran what it said when it was chosen."""
    world = mixed(tmp_path)
    with (
        km.viewer(world, open_browser=False, paused=True) as v,
        visit("about:blank", tmp_path / "profile") as opened,
    ):
        page = opened.page
        watched(opened, v.url)
        pump(v, 2.0)
        v.mark("names")
        wanted = [body for body in world.bodies if "x" * 99 not in body.name]
        assert len(wanted) > 60
        for body, second in pairwise(wanted[::2]):  # each kind of file has about 25 of them
            v.select(body.id)
            v.select(second.id, second=True)
            v.panel.tell(f"{body.name} is chosen")
            pump(v, 0.05)
            for each in (body, second):
                page.wait_for_function(SHOWN, arg=" ".join(filter(None, plain(each.name).split(" "))), timeout=120_000)
        assert page.evaluate(FOUND) == [None, 0, 0, 0]
        assert page.url.startswith(v.url.partition("?")[0])
        assert opened.errors == []

        # and if one were not escaped, the browser would still run nothing
        v.panel.body.content = f"<p>unescaped</p>{NAMES[1]}<br>{NAMES[2]}</svg>{NAMES[0]}</iframe>"
        page.get_by_text("unescaped").wait_for(timeout=120_000)
        page.wait_for_function("() => window.refused.length > 0", timeout=120_000)
        assert page.evaluate("() => window.hit ?? null") is None


def recording_of_names() -> Recording:
    names = [n for n in NAMES if "\ud83d" not in n]
    recording = Recording(NAMES[0])
    for name in names:
        recording.add_body(Body(name, (km.Shape.sphere(0.1),)))
    poses = np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], (len(names), 1))
    poses[:, 0] = 0.3 * np.arange(len(names))
    recording.add_poses(0.0, np.arange(len(names)), poses)
    for k, name in enumerate(names[:12]):
        parents = {n: names[(i + 1) % len(names)] if i < k else None for i, n in enumerate(names)}
        recording.add_chapter(0.05 * (k + 1), name, parents)
    recording.add_poses(1.0, np.arange(len(names)), poses)
    return recording


def report_of_names(folder: Path) -> Path:
    """The report of a run whose name, and whatever text is in its file, is hostile."""
    import sqlite3

    from tests.evolve.test_runs import golden, settings

    from kinemorph.evolve.report import report

    file = folder / """<img src=x onerror=window.hit=1>"'`$[red].db"""
    golden(file, settings())
    with sqlite3.connect(file) as db:
        db.execute("UPDATE individual SET op = ?", (NAMES[5],))
        for g, stats in db.execute("SELECT g, stats FROM generation").fetchall():
            rejected = {name: 1 for name in NAMES if "\ud83d" not in name}
            db.execute(
                "UPDATE generation SET stats = ? WHERE g = ?",
                (json.dumps({**json.loads(stats), "rejected": rejected}), g),
            )
        row = {"measure": 1.0, "low": 0.0, "high": 1.0, "score": 1.0, "rejected": 0, "draws": 1, "made": 1}
        told = {"generation": 1, "rank": 0, "conditions": {n: row for n in NAMES if "\ud83d" not in n}, "lesions": {}}
        db.execute("INSERT OR REPLACE INTO run VALUES ('rescore', ?)", (json.dumps(told),))
    db.close()
    return report([file], folder / "report.html")


def test_pages_run_nothing_that_is_in_a_name(tmp_path: Path) -> None:
    """Replays, reports, notebooks and the page of what was made."""
    from tools.index_page import index_page

    folder = tmp_path / "pages"
    folder.mkdir()
    recording = recording_of_names()
    for k, name in enumerate(n for n in NAMES if "/" not in n and "\ud83d" not in n and len(n) < 200):
        (folder / f"{name}{k}.txt").write_text("")
    one = replay(recording, folder / """'"><img src=x onerror=window.hit=1>.html""")
    index = index_page(folder)
    notebook = tmp_path / "notebook.html"
    b = km.Builder(NAMES[0])
    b.link(NAMES[1], None, km.Joint.revolute("y"), inertia=km.Inertia.sphere(1.0, 0.1))
    parts = [recording._repr_html_(), b.build()._repr_html_()]
    notebook.write_text(f"<!doctype html><meta charset=utf-8><canvas></canvas>{''.join(parts)}", "utf-8")
    with visit("about:blank", tmp_path / "profile") as opened:
        page = opened.page
        page.add_init_script(WATCH)
        for file in (one, report_of_names(tmp_path), index, notebook):
            page.goto(file.resolve().as_uri(), timeout=120_000)
            page.wait_for_timeout(1500)
            assert page.evaluate(FOUND) == [None, 0, 0, 0], file
        page.goto(one.resolve().as_uri(), timeout=120_000)
        page.locator("canvas").first.wait_for(timeout=120_000)
        assert page.title() == plain(NAMES[0])
        told = page.locator("#legend td:nth-child(2)").all_inner_texts()
        assert len(told) == 12
        assert told[1].startswith(" ".join(plain(NAMES[1]).split()))


# --------------------------------------------------------------------------------------------------------- in terminals


def test_commands_print_no_escape_sequence(tmp_path: Path) -> None:
    """Names of files and in files, in what is told and in what is refused."""
    import os
    import subprocess
    import sys

    scene = tmp_path / "[red]a\x1b[31m.toml"
    scene.write_text(toml(["[bold]x[b] \x9b2J", "[link=http:evil.example]y\x9b2J", "\u202ez"]), "utf-8")
    model = tmp_path / "b\x1b[31m.urdf"
    model.write_text(urdf(["\u202ea\x9b31m", "\x9b2J[red]b"]), "utf-8")
    bad = tmp_path / "c\x1b[31m[red].toml"
    bad.write_text('name = "\\u001b[31m"\nseconds = "x"\n')
    environment = os.environ | {"FORCE_COLOR": "1", "PYTHONUTF8": "1"}
    for words, code in (
        (["run", str(scene), "--out", str(tmp_path / "out\x1b[31m")], 0),
        (["convert", str(model), str(tmp_path / "d\x1b[31m.xml")], 0),
        (["run", str(bad)], 2),
        (["view", str(tmp_path / "no\x1b[31m[red]")], 2),
        (["demo", "[red]\x1b[31m"], 2),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "kinemorph", *words], capture_output=True, text=True, encoding="utf-8",
            timeout=300, cwd=tmp_path, env=environment,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        said = done.stdout + done.stderr
        for ours in ("\x1b[1m", "\x1b[0m"):
            said = said.replace(ours, "")
        assert not any((c < " " and c != "\n") or "\x7f" <= c < "\xa0" or c == "\u202e" for c in said), said
        if words[0] == "run" and code == 0:
            assert "[bold]x[b] \\x9b2J: [link=http:evil.example]y\\x9b2J" in said
