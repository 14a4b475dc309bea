"""Bounce: the rules of the thesis, numbers that depend on the seed alone, and checks that can fail."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.browser import still, visit
from tests.naive.boxes import overlapping
from tests.naive.distance import distance as naive_distance

import kinemorph as km
from kinemorph.scenes.bounce import oracle
from kinemorph.scenes.bounce.replay import record
from kinemorph.scenes.bounce.simulation import LARGEST_VELOCITY_COMPONENT, Bounce, Report, run, scaled, shapes


@pytest.fixture(scope="module")
def report() -> Report:
    return run(Bounce(60, seed=3), updates=200_000, check_every=100)


def test_a_run_is_without_fault(report: Report) -> None:
    assert report.good
    assert report.numbers["updates"] >= 200_000
    assert report.checks >= 5
    assert report.proved > 100
    assert report.worst < 1e-9
    assert report.numbers["fallbacks"] < 20
    assert report.numbers["bounces"] > 100
    assert report.numbers["opened"] > 20
    assert 1.0 <= report.numbers["walked"] / report.numbers["updates"] < 2.0
    assert report.pairs > 60
    assert sum(report.shares) == pytest.approx(1.0)


def test_numbers_depend_on_the_seed_alone(report: Report) -> None:
    again = run(Bounce(60, seed=3), updates=200_000, check_every=37)
    assert again.numbers == report.numbers
    assert again.steps == report.steps
    other = run(Bounce(60, seed=4), steps=50)
    assert other.numbers != run(Bounce(60, seed=3), steps=50).numbers


def test_boxes_hold_the_objects_before_and_after_the_step() -> None:
    world = Bounce(30, dt=0.1)
    for _ in range(20):
        before = corners(world)
        world.advance(world.steps + 1)
        for points in (before, corners(world)):
            for i, x in enumerate(points):
                assert (world.lows[i] <= x.min(axis=0) + 1e-12).all()
                assert (world.highs[i] >= x.max(axis=0) - 1e-12).all()
        assert np.array_equal(world.collisions.broad_phase.pairs, overlapping(world.lows, world.highs))


def corners(world: Bounce) -> list[np.ndarray]:
    vertices = [np.vstack([part.points for part in world.bodies[w].parts]) for w in world.which]
    return [x @ o["R"].reshape(3, 3).T + o["x"] for x, o in zip(vertices, world.objects)]


def test_objects_move_by_the_rules() -> None:
    world = Bounce(40, dt=0.05, seed=5)
    turned_back = parted = 0
    for _ in range(200):
        before = world.objects.copy()
        world.advance(world.steps + 1)
        now = world.objects
        # 3: along the velocity, which gains the gravity factor; they turn, and never stop to
        assert np.allclose(now["x"], before["x"] + 0.05 * before["v"], atol=1e-14)
        assert np.array_equal(now["w"], before["w"])
        assert np.allclose(np.linalg.norm(now["q"], axis=1), 1.0, atol=1e-14)
        ij, _, contacts = world.close()
        hit = ij[contacts["distance"] <= 0.0]
        out = np.abs(now["x"]) > 0.5 * world.side
        free = np.setdiff1d(np.flatnonzero(~out.any(axis=1)), hit)
        expected = before["v"] + before["gravity"][:, None] * [0.0, 1.0, 0.0]
        assert np.allclose(now["v"][free], expected[free], atol=1e-15)
        # 5: who is outside turns back
        alone = np.setdiff1d(np.flatnonzero(out.any(axis=1)), hit)
        assert (now["v"][alone] * now["x"][alone])[out[alone]].max(initial=-1.0) <= 0.0
        # 6: who penetrates one other moves away from it
        for i, j in hit:
            if (hit == i).sum() == (hit == j).sum() == 1:
                d = now["x"][j] - now["x"][i]
                assert now["v"][i] @ d <= 0.0 <= now["v"][j] @ d
        changed = np.union1d(alone, hit).astype(int)
        assert np.abs(now["v"][changed]).max(initial=0.0) <= LARGEST_VELOCITY_COMPONENT
        turned_back, parted = turned_back + len(alone), parted + len(hit)
    assert turned_back > 20
    assert parted > 20


def test_a_torus_is_open_in_the_middle() -> None:
    """In the hole the hulls overlap but the parts do not: that is no bounce. In the ring itself it is one."""
    needle, ring = scaled(shapes()["tube"], 0.4), shapes()["torus"]
    for x, inside in ((0.0, False), (0.36, True)):
        world = Bounce(2, side=10.0, dt=0.0, bodies=[needle, ring])
        world.objects["x"] = world.objects["v"] = world.objects["w"] = world.objects["gravity"] = 0.0
        world.objects["q"] = (1.0, 0.0, 0.0, 0.0)
        world.objects["R"] = np.eye(3).ravel()
        world.objects["x"][world.which.tolist().index(0), 0] = x
        world.advance(1)
        _, pairs, contacts = world.close()
        assert world.numbers["opened"] == 1  # which takes hulls that overlap
        assert pairs["exact"][0] == 1
        assert (contacts["distance"][0] < 0.0) == inside
        assert world.numbers["bounces"] == inside
        true = km.distance(needle, km.Pose((x, 0.0, 0.0)), ring, None).distance
        assert contacts["distance"][0] == pytest.approx(true, abs=1e-9)
        if not inside:  # from the tube's surface to the ring's inner one, at the middle of a piece
            assert 0.05 < true < 0.36 - 0.14 - 0.12 + 1e-9


def test_hashing_and_coherence_change_nothing() -> None:
    """Distances of penetrating pairs are the same whether the hash finds them or all pairs are asked."""
    worlds = [Bounce(12, side=4.0, seed=2, hashing=False), Bounce(12, side=4.0, seed=2, coherence=False)]
    reference = Bounce(12, side=4.0, seed=2)
    for world in (*worlds, reference):
        world.advance(1)
    found = []
    for world in (*worlds, reference):
        ij, pairs, _ = world.close()
        found.append({(i, j): a["distance"] for (i, j), a in zip(ij.tolist(), pairs) if a["distance"] <= 0.0})
    assert found[0].keys() == found[1].keys() == found[2].keys()
    assert found[0]
    for other in found[1:]:
        assert all(other[pair] == pytest.approx(found[0][pair], abs=1e-12) for pair in found[0])
    worlds[1].advance(100)
    reference.advance(100)
    assert worlds[1].numbers["pairs"] == reference.numbers["pairs"]
    assert np.array_equal(worlds[1].objects["x"], reference.objects["x"])


def test_the_oracle_knows_a_wrong_distance_and_a_missed_pair() -> None:
    world = Bounce(60, seed=1)
    world.advance(20)
    report = Report(60, world.sides)
    oracle.check(world, report, 30)
    assert report.good
    assert report.proved == 30
    world.collisions.contacts["distance"] += 1e-6
    oracle.check(world, report, 30)
    assert report.wrong == 30
    world.collisions.contacts["distance"] -= 1e-6
    world.lows[0], world.highs[0] = -world.side, world.side  # all over, and the hash was not told
    oracle.check(world, report, 0)
    assert report.missed > 0
    assert report.invalid == 0
    world.collisions.broad_phase.rows["shared"][:5] += 1
    oracle.check(world, report, 0)
    assert report.invalid == 1


def test_proofs_agree_with_a_slow_search() -> None:
    world = Bounce(12, side=3.0, seed=7)
    world.advance(5)
    ij, pairs, contacts = world.close()
    apart = np.flatnonzero(contacts["distance"] > 0.0)[:4]
    assert len(apart)
    for k in apart:
        i, j = ij[k].tolist()
        a, b = world.core(i, int(contacts["part1"][k])), world.core(j, int(contacts["part2"][k]))
        (R1, p1), (R2, p2) = ((o["R"].reshape(3, 3), o["x"]) for o in world.objects[[i, j]])
        expected = naive_distance(a, b, R1.T @ R2, R1.T @ (p2 - p1))
        assert contacts["distance"][k] == pytest.approx(expected, abs=1e-9)
        assert oracle.find_mistake(world, i, j, pairs[k], contacts[k]) < 1e-9


def test_tables_grow_in_the_middle_of_a_run() -> None:
    world = Bounce(150, side=200.0)
    world.advance(2)
    room = len(world.collisions.broad_phase.rows)
    world.objects["x"] *= 0.02  # now everybody meets everybody
    world.advance(5)
    assert len(world.collisions.broad_phase.rows) > 2 * room
    report = Report(150, world.sides)
    oracle.check(world, report, 10)
    assert report.good


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"count": 1}, "1 objects; expected 2"),
        ({"side": 0.0}, "side is 0.0"),
        ({"dt": -1.0}, "step size is -1.0"),
        ({"dt": np.nan}, "step size is nan"),
    ],
)
def test_bad_arguments_are_named(bad: dict[str, float], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Bounce(**bad)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="how many steps"):
        run(Bounce(2))


def test_the_command_prints_a_table(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "kinemorph.cli", "bounce", "--objects", "40", "--updates", "20_000"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    for what in ("pairs in a step", "fallbacks", "pairs of boxes missed", "invalid hash", "updates a second"):
        assert what in done.stdout
    assert int(re.search(r"by V-Clip +│ +([\d,]+)", done.stdout)[1].replace(",", "")) >= 20_000  # type: ignore[index]
    told = subprocess.run([*words, "--json"], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=True)
    numbers = json.loads(told.stdout)
    assert (numbers["good"], numbers["missed"], numbers["count"]) == (True, 0, 40)
    assert f"{numbers['numbers']['updates']:,}" in done.stdout
    both = subprocess.run([*words, "--json", "--replay", "x.html"], cwd=tmp_path, capture_output=True, text=True)
    assert (both.returncode, both.stdout) == (2, "")
    assert "--json is for numbers" in both.stderr


def differ(a: np.ndarray, b: np.ndarray) -> int:
    """Pixels that are clearly not the same."""
    return int((np.abs(a - b).max(axis=2) > 0.2).sum())


def test_the_replay_shows_and_hides_tiles(tmp_path: Path) -> None:
    file = record(Bounce(20, seed=2), 60, tmp_path / "bounce.html")
    with visit(file, tmp_path / "profile", (640, 480)) as opened:
        page = opened.page
        page.locator("canvas").first.wait_for(timeout=60_000)
        page.locator("input").first.wait_for(timeout=60_000)
        page.add_style_tag(content="#legend, .mantine-Notifications-root { display: none !important }")
        page.wait_for_timeout(3000)
        page.keyboard.press("Space")
        page.locator("input").first.fill("0.2")
        page.get_by_label("Show scene tree").click()
        tree = page.locator("[data-playback-scene-tree]")
        tree.wait_for()
        assert all(name in tree.inner_text() for name in ("closest", "features", "boxes", "tiles"))
        canvas = (slice(60, 420), slice(20, 340))  # left of the scene tree
        before = still(page)
        page.locator("div:has(> span)", has_text="/tiles").last.locator("xpath=..").locator("svg").nth(1).click()
        for _ in range(20):  # a busy machine draws late
            page.wait_for_timeout(500)
            after = still(page)
            if differ(before[canvas], after[canvas]) > 200:
                break
        requests, errors = list(opened.requests), list(opened.errors)
    assert before[canvas].std() > 0.02
    red = (before[canvas][..., 0] > 0.7) & (before[canvas][..., 1] < 0.35)
    assert red.sum() > 20  # closest features
    assert differ(before[canvas], after[canvas]) > 200
    assert [url for url in requests if not url.startswith(("data:", "blob:"))] == [file.as_uri()]
    assert not errors


@pytest.mark.parametrize("seed", range(4))
def test_a_world_may_be_a_box_of_any_sides(seed: int) -> None:
    """Whoever's centre leaves it through one of its walls is led back through that one."""
    sides = np.random.default_rng(seed).uniform(2.0, 20.0, 3)
    world = Bounce(40, tuple(sides), dt=0.05, seed=seed)
    assert (np.abs(world.objects["x"]) <= 0.5 * sides).all()
    left = np.zeros(3, int)
    for step in range(1, 201):
        world.advance(step)
        out = np.abs(world.objects["x"]) > 0.5 * sides
        back = world.objects["v"] * world.objects["x"] < 0.0
        untouched = np.ones(40, bool)
        untouched[world.close()[0].ravel()] = False  # who penetrates another has been sent elsewhere since
        assert back[out & untouched[:, None]].all()
        left += out.any(axis=0)
    assert (left > 0).all()
    assert run(world, 300).good


def test_one_side_is_that_of_a_cube() -> None:
    worlds = [Bounce(12, side, seed=2) for side in (4.0, (4.0, 4.0, 4.0), [4.0])]
    for world in worlds:
        world.advance(100)
        np.testing.assert_array_equal(world.poses, worlds[0].poses)
    for side in (0.0, -1.0, float("nan"), (1.0, 2.0), (1.0, 2.0, 0.0), (1.0, 2.0, float("inf")), ()):
        with pytest.raises(ValueError, match="expected a positive length, or three for a box"):
            Bounce(12, side)


def test_a_bounce_can_be_looked_at_while_it_runs() -> None:
    """The page as a browser has it: what it shows, and what its buttons do."""
    pytest.importorskip("viser")
    from kinemorph.scenes.bounce.live import LINES, Live
    from kinemorph.view.live.server import running_server

    world = Bounce(20, (9.0, 6.0, 4.0))
    with running_server("viewers") as server:
        live = Live(world, server, paused=False)
        for name in LINES:
            live.mark(name, True)
        live.go_on()
        assert world.steps == live.each
        assert f"20 objects, {len(world.close()[0])} pairs" in live.told.content
        boxes = live.lines["boxes"].points.reshape(20, 12, 2, 3)
        np.testing.assert_allclose(boxes.min(axis=(1, 2)), world.lows, rtol=1e-6)
        shown = np.concatenate([mesh.batched_positions for mesh in live.meshes if mesh is not None])
        np.testing.assert_allclose(shown, np.concatenate([world.poses[rows, :3] for rows in live.rows]), rtol=1e-6)
        live.pause()
        live.go_on()
        assert world.steps == live.each
        live.step()
        live.go_on()
        live.go_on()
        assert world.steps == live.each + 1
        live.close()
        assert not live.open


def test_the_live_bounce_ends_when_its_time_is_up(capsys: pytest.CaptureFixture[str]) -> None:
    """It serves a page, and gives the address back when it ends."""
    pytest.importorskip("viser")
    from kinemorph.scenes.commands.view_command import check_view_request, show_target

    check_view_request("bounce", 0.2)
    show_target("bounce", 0.2, 0, False, False, None)
    (address,) = re.findall(r"look at http://([\w.]+):(\d+)", capsys.readouterr().out)
    with socket.socket() as probe:
        assert probe.connect_ex((address[0], int(address[1]))) != 0
