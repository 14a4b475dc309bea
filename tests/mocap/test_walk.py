"""The walk that comes with kinemorph, and the recordings of others."""

import numpy as np
import pytest
from tests.mocap.samples import FEET, walk
from tests.mocap_files import own_recording, recording

import kinemorph as km
from kinemorph.mocap.body.figure import HEIGHT, sole
from kinemorph.mocap.link_motion import on_link, places_of
from kinemorph.mocap.smooth import Motion
from kinemorph.mocap.synthetic_walk import Gait, posture, quintic


def test_the_file_is_what_the_code_makes():
    file, made = km.load_bvh(km.mocap.walk_file()), km.mocap.synthetic_walk()
    assert file.names == made.names
    assert np.abs(file.frames - made.frames).max() < 1e-3
    assert km.mocap.walk_file().stat().st_size < 200_000


def test_the_walk_is_one_of_normal_gait():
    analysis = walk()
    walking = km.mocap.walking_of(analysis)
    assert walking.pace == "natural"
    assert walking.outside == ()
    for name, value in walking.values.items():
        norm = walking.norm(name)
        assert abs(value - norm.mean) < 1.5 * norm.deviation, name
    for bone, low, high in (
        ("thigh", (-20, -9), (24, 32)),
        ("shank", (0, 10), (55, 68)),
        ("foot", (-22, -8), (10, 20)),
    ):
        angles = np.degrees(analysis.flexion("left", bone))[analysis.reliable]
        assert low[0] < angles.min() < low[1]
        assert high[0] < angles.max() < high[1]
    for side, stance in analysis.stances():
        alone = (analysis.contacts.kinds == side) & (np.abs(np.arange(len(analysis.t)) - stance.start) < 100)
        along = (analysis.pressure(side) - analysis.ankles[side][stance.start + 20])[alone, 0]
        assert along[0] < 0.03  # from the heel
        assert along[-1] > 0.12  # to the ball
        assert np.maximum.accumulate(along)[:-5].max() - along.min() > 0.1


def test_feet_of_the_walk_neither_slide_nor_sink():
    g, model = Gait(), km.human()
    t = np.arange(0.0, 2.0 * g.stride, 2e-3)
    q = posture(model, t, g)
    still = np.zeros((len(t), model.nv))
    places = places_of(model, Motion(q, still, still), [f"{side} foot" for side in FEET])
    heel, toe = sole(HEIGHT)
    for i, shift in enumerate((0.0, 0.5)):
        share = (t / g.stride - shift) % 1.0
        ends = on_link(places, i, heel), on_link(places, i, heel + 0.72 * (toe - heel))
        for x, start, end in zip(ends, (0.0, g.flat), (g.rise, g.stance), strict=True):
            assert x[:, 2].min() > -1e-6
            down = (share > start + 0.01) & (share < end - 0.01)
            assert np.abs(x[down, 2]).max() < 1e-6
            speed = np.linalg.norm(np.diff(x, axis=0), axis=1) / 2e-3
            assert speed[down[1:] & down[:-1]].max() < 1e-4
            swings = (share > g.stance + 0.06) & (share < 0.92)
            assert x[swings, 2].min() > 0.008
    again = posture(model, t + g.stride, g)
    again[:, 0] -= g.speed * g.stride
    assert np.abs(again - q).max() < 1e-6


def test_a_leg_that_cannot_reach_is_told_so():
    with pytest.raises(ValueError, match=r"a leg of 0\.859 m cannot reach .* m: walk slower or crouch more"):
        km.mocap.synthetic_walk(gait=Gait(speed=2.5))


def test_walking_has_two_peaks_of_vertical_force():
    analysis = walk()
    for side in FEET:
        stance = next(phase for foot, phase in analysis.stances() if foot == side)
        force = analysis.force(side)[stance.start : stance.end, 2] / analysis.weight
        third = len(force) // 3
        first, middle, last = force[:third].max(), force[third:-third].min(), force[-third:].max()
        assert 1.0 < first < 1.4
        assert 1.0 < last < 1.4
        assert 0.5 < middle < 0.95


def test_quintic_meets_both_ends():
    ends = [np.array([x]) for x in (1.0, 2.0, -3.0, 4.0, -5.0, 6.0)]
    u, h = np.array([[0.0], [1.0]]), 1e-4
    x = quintic(u, *ends)
    assert np.allclose(x[:, 0], [1.0, 4.0])
    v = (quintic(u + h, *ends) - quintic(u - h, *ends)) / (2 * h)
    a = (quintic(u + h, *ends) - 2 * x + quintic(u - h, *ends)) / h**2
    assert np.allclose(v[:, 0], [2.0, -5.0], atol=1e-5)
    assert np.allclose(a[:, 0], [-3.0, 6.0], atol=1e-3)


def test_jumps_of_a_real_recording():
    """CMU 01_01: forward jumps. In the air next to nothing bears, and whoever jumps lands hard."""
    analysis = km.mocap.analyse(recording("01_01.bvh"), methods=("smooth",))
    flights = [p for p in analysis.contacts.phases if p.kind == "flight" and p.end - p.start > 30]
    assert len(flights) == 10
    left = []
    for phase in flights:
        quarter = (phase.end - phase.start) // 4
        left.append(np.median(analysis.unexplained[phase.start + quarter : phase.end - quarter]))
        landing = analysis.ground[phase.end : phase.end + 30, 2].max()
        assert 1.5 * analysis.weight < landing < 5.0 * analysis.weight
    assert np.median(left) < 0.15  # noise, and what the filter smears from before and after
    assert max(left) < 0.4
    assert analysis.balance < 1e-5 * analysis.weight


@pytest.mark.parametrize("frames", [7, 8, 12])
def test_short_recordings_are_analysed(frames):
    bvh = km.load_bvh(km.mocap.walk_file())
    short = km.mocap.analyse(km.Bvh(bvh.joints, bvh.frames[:frames], bvh.dt, "short"))
    assert np.isfinite(short.loads["smooth"].tau).all()
    assert "mean vertical force" in short.summary()


def test_recordings_that_are_too_slow_say_which_cutoff_would_do():
    bvh = km.load_bvh(km.mocap.walk_file())
    with (
        pytest.warns(km.ModelWarning),
        pytest.raises(ValueError, match=r"cutoff 6 Hz is too high for 5 frames a second"),
    ):
        km.mocap.analyse(km.Bvh(bvh.joints, bvh.frames[:50], 0.2, "slow"))
    with pytest.warns(km.ModelWarning):
        slow = km.mocap.analyse(km.Bvh(bvh.joints, bvh.frames[:50], 0.2, "slow"), cutoff=1.0)
    assert slow.residuals is None


def test_still_recordings_are_analysed():
    bvh = km.load_bvh(km.mocap.walk_file())
    upright = bvh.frames[:1].copy()
    upright[:, 3:] = 0.0  # nothing is turned
    still = km.mocap.analyse(km.Bvh(bvh.joints, np.tile(upright, (100, 1)), bvh.dt, "still"))
    assert (still.contacts.kinds == "double").all()
    for method in still.loads:
        for side in FEET:
            assert np.allclose(still.force(side, method), [0.0, 0.0, 0.5 * still.weight], atol=0.02 * still.weight)
    assert np.allclose(still.ground, [0.0, 0.0, still.weight], atol=1e-6 * still.weight)


def test_a_climber_is_held_by_more_than_feet():
    analysis = km.mocap.analyse(recording("01_03.bvh"), methods=("smooth",))
    assert "something else than feet must hold the body" in analysis.summary()


WALKS = [
    ("02_01", "02_02"), ("07_01", "07_02", "07_03"), ("08_01", "08_02", "08_03"), ("12_01", "12_02", "12_03"),
    ("16_15", "16_16", "16_31", "16_32"), ("35_01", "35_02", "35_03"),
]  # fmt: skip


@pytest.mark.parametrize("names", WALKS, ids=lambda names: names[0][:2])
def test_people_who_walk_have_the_moments_of_normal_gait(names):
    """With hips calibrated by two angles of the knee, all peaks are found to be those of healthy adults, or nearly."""
    files = [own_recording(f"{name}.bvh") for name in names]
    recorded = [km.mocap.analyse(file, methods=("smooth",)) for file in files]
    before = km.mocap.walking_of(*recorded)
    assert "knee at strike" in before.outside
    hips = km.mocap.calibrate_hips(*recorded)
    assert np.abs([*hips.values()]).max() < 0.04
    calibrated = [km.mocap.analyse(file, methods=("smooth",), hips=hips) for file in files]
    for analysis in calibrated:
        assert analysis.ground[analysis.reliable, 2].mean() == pytest.approx(analysis.weight, rel=0.01)
    after = km.mocap.walking_of(*calibrated)
    for name, value in after.values.items():
        norm = after.norm(name)
        assert abs(value - norm.mean) < 3.0 * norm.deviation, name
    assert len(after.outside) <= min(3, len(before.outside) - 1)
    assert after.curves["foot"].argmax() > 50  # push-off comes late
    assert after.curves["shank"].argmax() < 40  # and the knee bears early
    assert after.curves["force"][:40].max() > after.curves["force"][35:65].min() < after.curves["force"][60:].max()
