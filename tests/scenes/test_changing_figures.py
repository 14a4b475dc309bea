"""People whose structure changes: high bar, a swing that breaks, and ten random changes (N&Y section VII)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.browser import still, visit

import kinemorph as km
from kinemorph.mocap.body.figure import upright
from kinemorph.scenes.robots.figure import HEIGHT, MASS, SIMPLE, pose
from kinemorph.scenes.robots.figure import human as figure
from kinemorph.scenes.structure import high_bar, human, swing_breaks
from kinemorph.view.recordings.recording import Recording

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_the_figure_is_that_of_the_paper() -> None:
    model = figure().build()
    kinds = [km.JointKind(k) for k in model.links["kind"]]
    assert (model.n, kinds.count(km.JointKind.SPHERICAL), kinds.count(km.JointKind.REVOLUTE)) == (17, 12, 4)
    assert model.nv - 6 == 40
    simple = figure(SIMPLE).build()
    assert (simple.n, simple.nv - 6) == (9, 16)


def test_the_figure_weighs_and_measures_what_people_do() -> None:
    model, simple = figure().build(), figure(SIMPLE).build()
    assert model.mass == pytest.approx(MASS, rel=1e-12)
    data, other = km.Data(model), km.Data(simple)
    q, q_simple = km.neutral(model), km.neutral(simple)
    # welding parts together changes nothing while they do not move
    np.testing.assert_allclose(km.com(model, data, q), km.com(simple, other, q_simple), atol=1e-12)
    inertia, inertia_simple = km.crba(model, data, q)[:6, :6], km.crba(simple, other, q_simple)[:6, :6]
    np.testing.assert_allclose(inertia, inertia_simple, atol=1e-10)
    km.kinematics(model, data, q)
    sole = km.pose_of(model, data, "left foot").position[2] - 0.039 * HEIGHT
    top = km.pose_of(model, data, "head").apply(upright(HEIGHT)["head"].end)[2]
    assert top - sole == pytest.approx(HEIGHT, abs=0.02)
    # the centre of mass of people who stand is at 0.56 of their height
    assert (km.com(model, data, q)[2] - sole) / (top - sole) == pytest.approx(0.56, abs=0.02)
    mirrored = pose(model, {"left thigh": (0.1, 0.2, 0.3), "right thigh": (-0.1, 0.2, -0.3)})
    assert km.com(model, data, mirrored)[1] == pytest.approx(0.0, abs=1e-12)


# ---------------------------------------------------------------------------------------------------------- high bar


@pytest.fixture(scope="module")
def flight() -> high_bar.LoggedMotion:
    return high_bar.swing()


def test_high_bar_has_the_coordinates_of_the_paper(flight: high_bar.LoggedMotion) -> None:
    assert flight.coordinates == [24, 23, 22]
    assert flight.mobility == [12, 17, 22]  # N_F: each hand on the bar takes five
    assert sorted(set(flight.log.mobility)) == [12, 17, 22]  # and the dynamics find the same
    assert [h.name for h in flight.log.happenings][-1] == "lands"


def test_high_bar_keeps_its_energy(flight: high_bar.LoggedMotion) -> None:
    log = flight.log
    assert log.drift < 1e-6
    assert np.abs(log.total - log.total[0]).max() < 1e-6  # to let go costs nothing
    assert log.loop_error.max() < 1e-9
    assert log.loop_speed.max() < 1e-9


def test_high_bar_flies_as_a_thrown_body_does(flight: high_bar.LoggedMotion) -> None:
    free = flight.log.stretches[-1]
    data = km.Data(free.model)
    centre = np.array([km.com(free.model, data, q) for q in free.q])
    t = free.t - free.t[0]
    start = km.com_velocity(free.model, data, free.q[0], free.v[0])
    expected = centre[0] + np.outer(t, start) + 0.5 * np.outer(t**2, free.model.gravity)
    np.testing.assert_allclose(centre, expected, atol=1e-7)
    spin = [km.momentum(free.model, data, q, v, about="com")[:3] for q, v in zip(free.q, free.v, strict=True)]
    np.testing.assert_allclose(spin, np.broadcast_to(spin[0], (len(spin), 3)), atol=1e-7)


def test_hands_stay_on_the_bar(flight: high_bar.LoggedMotion) -> None:
    both, one, _ = flight.log.stretches
    for stretch, sides in ((both, ("left", "right")), (one, ("left",))):
        data = km.Data(stretch.model)
        for side in sides:
            for q in stretch.q[::10]:
                km.kinematics(stretch.model, data, q)
                x, _, z = km.pose_of(stretch.model, data, f"{side} palm").position
                np.testing.assert_allclose((x, z), (high_bar.BAR[0], high_bar.BAR[2]), atol=1e-9)


# ------------------------------------------------------------------------------------------------------------- swing


def test_a_swing_breaks() -> None:
    result = swing_breaks.ride()
    log = result.log
    assert result.coordinates == [25, 30, 29, 28]
    names = [h.name for h in log.happenings]
    assert names == ["the hinge breaks", "the left thigh leaves the plate", "the right thigh leaves the plate", "lands"]
    assert log.drift < 1e-6
    assert np.abs(log.total - log.total[0]).max() < 1e-6
    assert log.loop_error.max() < 1e-9
    assert result.mobility[-1] == 22  # 28 less the six that the second hand takes: 3 of its own, and 3 of the others


# ------------------------------------------------------------------------------------------------------------- human


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_ten_changes_lose_nothing(seed: int) -> None:
    result = human.journey(seed)
    log = result.log
    assert len(log.happenings) == len(result.told) == 10
    first = log.stretches[0].model
    for s in log.stretches:
        assert set(s.model.names) == set(first.names)
        assert s.model.mass == pytest.approx(first.mass, rel=1e-12)
    np.testing.assert_allclose(result.momentum, np.broadcast_to(result.momentum[0], result.momentum.shape), atol=1e-8)
    assert log.drift < 1e-7
    assert min(h.lost for h in log.happenings) > -1e-9  # energy never rises
    assert log.loop_error.max() < 1e-9
    for h in log.happenings:
        assert h.report is not None
        assert max(h.report.pose_error, h.report.twist_error) < 1e-8


# ------------------------------------------------------------------------------------------------------------ replay


def test_the_replay_shows_people_and_their_loops(flight: high_bar.LoggedMotion, tmp_path: Path) -> None:
    recording = Recording.from_log(flight.log)
    names = [b.name for b in recording.bodies]
    assert {"joint left hand", "joint right hand"} <= set(names)
    there = ~np.isnan(recording.poses[:, names.index("joint right hand"), 0])
    assert there.sum() == len(flight.log.stretches[0].t)  # it is gone when the hand has let go
    assert [e.what for e in recording.chapters] == ["start", "the right hand lets go", "the left hand lets go"]
    x, _, z = recording.poses[0, names.index("joint left hand"), :3]
    np.testing.assert_allclose((x, z), (high_bar.BAR[0], high_bar.BAR[2]), atol=1e-9)

    *_, film = high_bar.draw_high_bar(flight, tmp_path)
    with visit(film, tmp_path / "profile", (480, 360)) as seen:
        page = seen.page
        page.locator("canvas").first.wait_for(timeout=90_000)
        page.locator("input").first.wait_for(timeout=90_000)  # the player's time: the recording is there
        page.add_style_tag(content="#legend, .mantine-Notifications-root { display: none !important }")
        page.wait_for_timeout(3000)
        page.keyboard.press("Space")  # pauses
        for _ in range(20):  # a busy machine draws late
            held, flying = picture(page, 0.0), picture(page, 2.0)
            if orange(held) > 10 and orange(flying) > 10 and yellow(held) > yellow(flying):
                break
        assert {url.split(":")[0] for url in seen.requests} <= {"file", "data", "blob"}
        assert not seen.errors
    assert held.std() > 0.02
    assert orange(held) > 10  # the root
    assert orange(flying) > 10
    assert yellow(held) > yellow(flying)  # hands on the bar


def picture(page: Page, t: float) -> np.ndarray:
    page.locator("input").first.fill(f"{t:.1f}")
    page.wait_for_timeout(500)
    box = page.locator("canvas").first.bounding_box()
    assert box is not None
    x, y, w, h = (int(box[k]) for k in ("x", "y", "width", "height"))
    return still(page)[y : y + h, x : x + w]


def orange(image: np.ndarray) -> int:
    r, g, b = np.moveaxis(image, -1, 0)
    return int(((r > 0.5) & (g < 0.6 * r) & (b < 0.4 * r)).sum())


def yellow(image: np.ndarray) -> int:
    r, g, b = np.moveaxis(image, -1, 0)
    return int(((r > 0.5) & (g > 0.8 * r) & (b < 0.5 * r)).sum())  # the rim of something orange is not yellow
