"""Replays: one file that plays offline and shows the tree change."""

from __future__ import annotations

import contextlib
import re
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from tests.browser import Visit, chromium, still, visit
from tests.needs import WHOLE

import kinemorph as km
from kinemorph.view.colours import SHADOW
from kinemorph.view.live.server import running_server
from kinemorph.view.recordings.recording import SOIL, Body, Recording, level_ground
from kinemorph.view.replays.replay import _batches, _kept_frames, _Scene, _seen_points, replay

LENGTH = 0.5
Image = npt.NDArray[np.float64]

TRY_TO_REACH_SOMEONE = """() => new Promise(resolve => {
    document.addEventListener("securitypolicyviolation", event => resolve(event.blockedURI));
    fetch("http://example.invalid/").catch(() => setTimeout(() => resolve("sent"), 3000));
})"""


FRAMES = """() => new Promise(resolve => {
    const next = left => left ? requestAnimationFrame(() => next(left - 1)) : resolve();
    next(10);
})"""


def hanging_chain() -> km.Model:
    b = km.Builder("chain <of three>")
    parent = None
    for name in ("top", "middle", "bottom"):
        b.link(
            name,
            parent,
            km.Joint.revolute("y"),
            at=(0, 0, 2.0) if parent is None else (0, 0, -LENGTH),
            inertia=km.Inertia.rod(1.0, (0, 0, 0), (0, 0, -LENGTH)),
            shapes=km.Shape.capsule(0.1, LENGTH - 0.1, km.Pose((0, 0, -LENGTH / 2))),
        )
        parent = name
    return b.build()


def still_chain_that_turns_round() -> Recording:
    """Nothing moves, so whatever differs between two frames is the structure."""
    model = hanging_chain()
    recording = Recording(model.name)
    for t in np.arange(0.0, 1.0, 0.01):
        recording.add(model, km.neutral(model), t)
    recording.chapter(1.0, "reroot & roll", root="bottom")
    recording.add_poses(2.0, np.arange(3), recording.poses[-1])
    return recording


def seek(opened: Visit, t: float) -> Image:
    """The canvas at a time, once it was drawn since, however slow the machine is."""
    playwright = pytest.importorskip("playwright.sync_api")
    there = f"() => +document.querySelector('input[type=hidden]').value == {t}"
    for _ in range(17):  # a page that is still being built may forget what was filled in
        opened.page.locator("input").first.fill(f"{t:.1f}")
        with contextlib.suppress(playwright.TimeoutError):
            opened.page.wait_for_function(there, timeout=10_000)
            break
    opened.page.wait_for_function(there, timeout=10_000)
    opened.page.evaluate(FRAMES)
    box = opened.page.locator("canvas").first.bounding_box()
    assert box is not None
    x, y, w, h = (round(box[k]) for k in ("x", "y", "width", "height"))
    return still(opened.page)[y : y + h, x : x + w]


def shown_time(opened: Visit) -> float:
    """Where the player is (s)."""
    return float(opened.page.locator("input[type=hidden]").first.input_value())


def orange(image: Image) -> Image:
    """Rows of the pixels that have the colour of a root."""
    r, g, b = np.moveaxis(image, 2, 0)
    return np.nonzero((r > 0.5) & (r > g + 0.2) & (g > b + 0.05))[0]


def blue(image: Image) -> Image:
    r, _, b = np.moveaxis(image, 2, 0)
    return np.nonzero(b > r + 0.2)[0]


def test_the_page_plays_offline_and_shows_the_tree_change(tmp_path: Path) -> None:
    """One test, as it takes long to start a browser that computes what a graphics card would."""
    file = replay(still_chain_that_turns_round(), tmp_path / "chain.html")
    with visit(file, tmp_path / "profile", (640, 480)) as opened:
        page = opened.page
        page.locator("canvas").first.wait_for(timeout=180_000)
        page.locator("input").first.wait_for(timeout=180_000)  # the player's time: the recording is there
        led = []
        for time in ("1.00 s", "0.00 s", "1.00 s"):  # links of the legend lead to what happens
            page.get_by_role("link", name=time).click()
            page.wait_for_timeout(500)
            led.append((page.url.rpartition("#")[2], shown_time(opened)))
        page.evaluate("location.hash = 't=1.2345'")  # as somebody does who opens page.html#t=1.2345
        page.wait_for_timeout(500)
        led.append((page.url.rpartition("#")[2], shown_time(opened)))
        # Only the canvas counts: away with what lies on it.
        page.add_style_tag(content="#legend, .mantine-Notifications-root { display: none !important }")
        page.wait_for_timeout(4000)
        before, after, again = seek(opened, 0.5), seek(opened, 1.5), seek(opened, 0.5)
        requests, errors = list(opened.requests), list(opened.errors)
        refused = page.evaluate(TRY_TO_REACH_SOMEONE)

    # a jump is to the very time, and there it stays
    assert led == [("t=1.0000", 1.0), ("t=0.0000", 0.0), ("t=1.0000", 1.0), ("t=1.2345", 1.2345)]

    # it draws the bodies
    assert before.shape[0] > 300
    assert before.std() > 0.02
    assert len(orange(before)) > 200
    assert len(blue(before)) > 200

    # the root is the upper end first, and the lower one after the event
    assert np.abs(before - after).max() > 0.3
    assert orange(before).max() < blue(before).max()
    assert orange(after).min() > blue(after).min()
    assert orange(after).mean() > orange(before).mean() + 80
    assert np.abs(orange(again).mean() - orange(before).mean()) < 2.0

    # it asks nobody for anything, and the browser would not let it
    assert {url.split(":")[0] for url in requests} <= {"file", "data", "blob"}
    assert [url for url in requests if url.startswith("file:")] == [file.as_uri()]
    assert not errors
    assert refused.startswith("http://example.invalid")


def test_the_legend_names_the_events_and_escapes_them(tmp_path: Path) -> None:
    page = replay(still_chain_that_turns_round(), tmp_path / "chain.html").read_text()
    legend = page[page.rindex('<div id="legend">') :]
    assert "<b>chain &lt;of three&gt;</b>" in legend
    assert re.findall(r'<tr><td><a href="#t=(.*?)">(.*?)</a></td><td>(.*?)</td></tr>', legend) == [
        ("0.0000", "0.00 s", "start"),
        ("1.0000", "1.00 s", "reroot &amp; roll"),
    ]
    assert "<title>chain &lt;of three&gt;</title>" in page


def test_colours_are_explained_where_something_has_them(tmp_path: Path) -> None:
    for colour, told in ((None, True), ((0.2, 0.3, 0.4, 1.0), False)):
        recording = Recording("pair")
        for name in ("upper", "lower"):
            recording.add_body(Body(name, (km.Shape.sphere(0.1, colour=colour),)))
        recording.add_poses(0.0, np.arange(2), np.array([[0, 0, z, 1, 0, 0, 0] for z in (1.0, 0.5)]))
        recording.add_chapter(0.0, "start", {"upper": None, "lower": "upper"})
        recording.add_chapter(0.1, "cut", {"upper": None, "lower": None})
        recording.add_poses(0.2, np.arange(2), recording.poses[-1])
        page = replay(recording, tmp_path / "pair.html").read_text()
        assert ("away from it" in page[page.rindex('<div id="legend">') :]) is told


def test_whose_work_the_player_is_is_in_the_page(tmp_path: Path) -> None:
    page = replay(still_chain_that_turns_round(), tmp_path / "chain.html").read_text()
    notice = page[page.rindex('<template id="licences">') :]
    assert f"the client of viser {distribution('viser').version}," in notice
    assert "Apache License\n                           Version 2.0" in notice  # all of it
    assert "END OF TERMS AND CONDITIONS" in notice


def test_events_say_which_links_they_join_and_part(tmp_path: Path) -> None:
    recording = still_chain_that_turns_round()
    recording.chapter(2.0, "let go", parents={"top": None})
    recording.add_poses(2.5, np.arange(3), recording.poses[-1])
    page = replay(recording, tmp_path / "chain.html").read_text()
    assert "<td>let go   − middle – top</td>" in page[page.rindex('<div id="legend">') :]


def test_the_log_of_a_simulation_can_be_replayed(tmp_path: Path) -> None:
    model = hanging_chain()
    log = km.simulate(model, km.State(np.zeros(3), np.ones(3)), 0.2, log_dt=0.05)
    assert replay(log, tmp_path / "log.html").stat().st_size > 100_000
    with pytest.raises(TypeError, match="recording is 3, and must be a Recording or a Log"):
        replay(3, tmp_path / "none.html")  # type: ignore[arg-type]


def one_ball(heights: list[float], *base: km.Shape) -> Recording:
    recording = Recording("ball")
    recording.add_body(Body("ball", (km.Shape.sphere(0.1, colour=(0.1, 0.9, 0.2, 1.0)),)))
    for shape in base:
        recording.add_base_shape(shape)
    for t, z in enumerate(heights):
        recording.add_poses(float(t), np.array([0]), np.array([[0.0, 0.0, z, 1.0, 0.0, 0.0, 0.0]]))
    return recording


@pytest.mark.parametrize(
    ("recording", "height", "solid"),
    [
        (one_ball([1.0, 0.1]), 0.0, True),  # nothing goes below zero
        (one_ball([1.0, 0.1, -9.0]), 0.9, False),  # it falls through: lines alone, below where it starts
        (one_ball([1.5, -9.0], km.Shape.box((20, 20, 0.02), km.Pose((0, 0, 0.49)), colour=SOIL)), 0.5, True),
        (one_ball([50.0, 50.1]), 49.9, True),  # far above the ground
    ],
)
def test_the_ground_is_where_it_is(recording: Recording, height: float, solid: bool) -> None:
    """It was at the lowest point that anything ever reached, so that all others hovered."""
    batches = _batches(recording, recording.poses, tree=False)
    _, floor, firm = _seen_points(batches, np.zeros((len(recording.t), 3)), level_ground(recording))
    assert (floor, firm) == (pytest.approx(height), solid)
    assert [name for batch in batches for name in batch.names] == ["ball"]  # the grid stands for level ground


def on_ground(kind: str, size: float, seed: int = 0) -> Recording:
    """A box that rests on ground that has an end, flat or with hills."""
    x = np.linspace(-0.5 * size, 0.5 * size, 25)
    hills = 0.0 if "flat" in kind else 0.01 * size * np.random.default_rng(seed).normal()
    heights = hills * np.sin(6.0 * x / size)[:, None] * np.cos(4.0 * x / size)[None, :]
    ground: km.Ground = km.HeightField(heights, (size, size))
    if "mesh" in kind:
        ground = km.Terrain(ground.mesh)  # type: ignore[attr-defined]
    world = km.World()
    world.add_ground(ground)
    world.add(km.Shape.box((0.5, 0.5, 0.5), colour=(0.8, 0.1, 0.1, 1.0)), at=(0, 0, 0.26 + abs(hills)))
    with km.film(world) as taken:
        world.run(0.1)
    return taken.recording


@pytest.mark.parametrize("size", [3.0, 20.0, 300.0])
@pytest.mark.parametrize("kind", ["flat field", "hilly field", "flat mesh", "hilly mesh"])
def test_ground_that_has_an_end_takes_shadows_and_casts_none(kind: str, size: float) -> None:
    """It lay in one plane with a grid, which flickered as a dark band, and no shadow was seen on it."""
    recording = on_ground(kind, size, seed=int(size))
    batches = _batches(recording, recording.poses, tree=False)
    with running_server("tests") as server:
        scene = _Scene(server, recording, batches, np.zeros((len(recording.t), 3)), (1.0, -1.3, 0.55))
        scene.show(len(recording.t) - 1)
        scene.happen(recording.chapters[0])
        nodes = server.scene._handle_from_node_name
        assert "/world/ground" not in nodes
        (ground,) = (node for name, node in nodes.items() if name.startswith("/world/ground_"))
        assert (ground.cast_shadow, ground.receive_shadow, ground.side) == (False, SHADOW, "double")
        assert len(scene.meshes) == 1  # the box


def test_shadows_are_seen_on_ground_that_has_an_end(tmp_path: Path) -> None:
    """Of a box that rests, beside it, and no band of the ground is dark."""
    recording = on_ground("hilly field", 8.0)
    with visit(replay(recording, tmp_path / "ground.html"), tmp_path / "profile", (480, 330)) as opened:
        page = opened.page
        page.locator("canvas").first.wait_for(timeout=120_000)
        page.locator("input").first.wait_for(timeout=120_000)
        page.add_style_tag(content="#legend, .mantine-Notifications-root { display: none !important }")
        page.wait_for_timeout(4000)
        image = seek(opened, 0.1)
    grey = image.max(axis=2) - image.min(axis=2) < 0.06
    level = image.mean(axis=2)
    lit = float(np.median(level[grey & (level < 0.97)]))
    dark = grey & (level < 0.85 * lit)
    assert 0.005 < dark.mean() < 0.2
    assert dark[: len(dark) // 3].sum() == 0  # far away there is none


def test_shapes_and_files_keep_their_colours() -> None:
    """Trees tint what has no colour of its own, or all of it if they are asked to."""
    colours = np.array([[0.2, 0.4, 0.6, 1.0], [0.2, 0.4, 0.6, 1.0], [np.nan] * 4, [0.8, 0.0, 0.2, 1.0]], np.float32)
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
    mesh = km.Mesh(corners, np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]], np.int32), colours)
    recording = Recording("robot")
    recording.meshes[Path("part")] = mesh
    shapes = km.Shape.mesh(Path("part")), km.Shape.sphere(0.1, colour=(0.1, 0.9, 0.2, 1.0)), km.Shape.sphere(0.2)
    recording.add_body(Body("link", shapes))
    recording.add_poses(0.0, np.array([0]), np.array([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]]))
    found = {
        tuple(b.colours[0].tolist()): (b.tinted[0], len(b.piece.faces))
        for b in _batches(recording, recording.poses, tree=False)
    }
    assert found.pop((51, 102, 153)) == (False, 2)  # faces of the file, by their colours
    assert found.pop((204, 0, 51)) == (False, 1)
    assert found.pop((26, 230, 51))[0] is False  # of the shape
    assert [tinted for tinted, _ in found.values()] == [True]  # what has none
    assert all(b.tinted[0] for b in _batches(recording, recording.poses, tree=True))


def test_frames_are_thinned_and_shapes_shared(tmp_path: Path) -> None:
    model = hanging_chain()

    def size(rate: float, steps: int) -> int:
        recording = Recording("swing")
        for t in np.linspace(0.0, 4.0, steps):
            recording.add(model, np.sin(t + np.arange(3)), t)
        return replay(recording, tmp_path / "swing.html", rate=rate).stat().st_size

    assert abs(size(30.0, 4001) - size(30.0, 401)) < 10_000
    assert size(5.0, 401) < size(60.0, 401)

    crowd = Recording("crowd")
    for i in range(300):
        crowd.add_body(Body(f"ball {i}", (km.Shape.sphere(0.1),)))
    poses = np.zeros((300, 7))
    poses[:, 0], poses[:, 3] = np.arange(300), 1.0
    crowd.add_poses(0.0, np.arange(300), poses)
    assert replay(crowd, tmp_path / "crowd.html").stat().st_size < 900_000


def test_the_camera_can_follow_a_body(tmp_path: Path) -> None:
    b = km.Builder("runner")
    b.link("body", joint=km.Joint.free(), inertia=km.Inertia(1.0, (0, 0, 0), np.eye(3)), shapes=km.Shape.sphere(0.2))
    model = b.build()
    recording = Recording("run")
    for t in np.linspace(0.0, 1.0, 20):
        recording.add(model, [30.0 * t, 0, 1, 1, 0, 0, 0], t)
    assert replay(recording, tmp_path / "run.html", follow="body").exists()
    with pytest.raises(ValueError, match="no body 'ghost' to follow; it has body"):
        replay(recording, tmp_path / "run.html", follow="ghost")


def test_a_replay_can_be_faster_than_life(tmp_path: Path) -> None:
    """Three minutes at ten times their speed are as many frames as eighteen seconds."""
    recording = Recording("slow")
    recording.add_body(Body("ball", (km.Shape.sphere(0.1),)))
    for k in range(1801):
        recording.add_poses(0.1 * k, np.array([0]), np.array([[0.01 * k, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]]))
    slow = replay(recording, tmp_path / "slow.html", rate=10.0).stat().st_size
    fast = replay(recording, tmp_path / "fast.html", rate=10.0, speed=10.0).stat().st_size
    assert fast < slow
    with pytest.raises(ValueError, match=r"speed is 0\.0, and must be positive"):
        replay(recording, tmp_path / "never.html", speed=0.0)


def test_what_cannot_be_replayed_says_so(tmp_path: Path) -> None:
    file = tmp_path / "none.html"
    with pytest.raises(ValueError, match="has no frames"):
        replay(Recording("empty"), file)
    bare = Recording("bare")
    bare.add_body(Body("point"))
    bare.add_poses(0.0, np.array([0]), np.array([[0.0, 0, 0, 1, 0, 0, 0]]))
    with pytest.raises(ValueError, match="has no shapes"):
        replay(bare, file)
    with pytest.raises(ValueError, match="rate is 0, and must be positive"):
        replay(still_chain_that_turns_round(), file, rate=0)
    assert not file.exists()


def test_making_a_replay_is_silent(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    replay(still_chain_that_turns_round(), tmp_path / "chain.html")
    assert capfd.readouterr().out == ""


def test_the_example_of_the_manual_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manual = Path(__file__).parents[2] / "docs" / "replay.md"
    example = re.search(r"```python\n(.*?)```", manual.read_text(encoding="utf-8"), re.S)
    assert example
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(example[1], names)
    assert repr(names["recording"]) in example[1]
    assert (tmp_path / "pendulum.html").stat().st_size < 1_000_000


def test_a_browser_may_be_lacking_or_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setenv(WHOLE, "1")
    with pytest.raises(pytest.fail.Exception, match="there is no chromium"):
        chromium()
    monkeypatch.delenv(WHOLE)
    with pytest.raises(pytest.skip.Exception, match="there is no chromium"):
        chromium()


def test_a_recording_that_says_it_lasted_for_ages_is_a_short_page(tmp_path: Path) -> None:
    """All ticks of its time, 60 a second, were listed: 224 GB for a file of two frames."""
    for ages in (5e8, 1e300):
        film = km.Recording("ages")
        for t in (0.0, 1.0, ages):
            film.add(hanging_chain(), [0.1, 0.0, 0.0], t)
        assert replay(film, tmp_path / "ages.html").stat().st_size < 2e7


@pytest.mark.parametrize("seed", range(4))
def test_frames_are_kept_as_a_list_of_ticks_would_keep_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for k in range(200):
        t = np.cumsum(rng.choice([0.0, 1e-3, 1 / 60, 0.01, 0.3], int(rng.integers(1, 200))))
        if k % 3 == 0:
            t = rng.choice([0.0, 1.0]) + np.arange(50) * rng.choice([1 / 240, 1 / 60, 0.01])
        rate = float(rng.choice([0.5, 7.3, 25, 30, 60, 1000]))
        ticks = np.arange(t[0], t[-1] + 0.5 / rate, 1.0 / rate)
        kept = np.searchsorted(t, ticks + 1e-9 / rate, side="right") - 1
        assert _kept_frames(t, rate).tolist() == np.unique([0, *kept, len(t) - 1]).tolist()
