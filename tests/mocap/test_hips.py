"""Hips that are misplaced are found by how far knees are bent, and walks are judged beside normal ones."""

from functools import cache

import numpy as np
import pytest
from tests.mocap.samples import FEET, walk

import kinemorph as km
from kinemorph.cli.show_commands import _hips
from kinemorph.mocap.body.legs import SOFT, limit_leg_reach, shifts_of
from kinemorph.mocap.gait_comparison import Walking
from kinemorph.mocap.link_motion import places_of
from kinemorph.mocap.normal_gait import sources
from kinemorph.mocap.smooth import Motion
from kinemorph.mocap.synthetic_walk import NAMES

AHEAD, LOW = {side: (0.02, -0.02) for side in FEET}, {"left": (0.03, -0.01), "right": (0.0, -0.02)}
Hips = dict[str, tuple[float, float]]


def recording(body: km.mocap.Body) -> km.Bvh:
    return km.mocap.bvh_of(body.model, body.q, body.dt, names=NAMES, name="walk")


def analysed(bvh: km.Bvh, hips: str | Hips = "recorded") -> km.mocap.Analysis:
    return km.mocap.analyse(bvh, methods=("smooth",), hips=hips)


@cache
def good() -> km.Bvh:
    """A walk whose knees are bent as people's are: ours, crouching, with its hips raised."""
    bvh = km.mocap.synthetic_walk(gait=km.mocap.Gait(crouch=0.15))
    return recording(km.mocap.body_of(bvh, hips=km.mocap.calibrate_hips(analysed(bvh))))


@cache
def crouched() -> km.Bvh:
    return km.mocap.synthetic_walk(gait=km.mocap.Gait(crouch=0.35))


def places(body: km.mocap.Body) -> tuple[np.ndarray, np.ndarray]:
    """Rotations and positions of pelvis and feet, as recorded."""
    still = np.zeros((len(body.q), body.model.nv))
    found = places_of(body.model, Motion(body.q, still, still), ["pelvis", *(f"{side} foot" for side in FEET)])
    return found.R, found.p


def off(one: Walking, other: Walking, curve: str) -> float:
    return float(np.sqrt(np.mean((one.curves[curve] - other.curves[curve]) ** 2)))


def test_ankles_feet_and_pelvis_stay_where_hips_move():
    bvh = crouched()  # legs that are straight give
    before, after = km.mocap.body_of(bvh), km.mocap.body_of(bvh, hips=LOW)
    for one, other in zip(places(before), places(after), strict=True):
        assert np.abs(one - other).max() < 1e-9
    for side in FEET:
        assert after.lengths(side) == pytest.approx(before.lengths(side), abs=1e-12)
        hips = [b.model.links["p"][b.model.link(f"{side} thigh")] for b in (after, before)]
        assert np.allclose(hips[0] - hips[1], [LOW[side][0], 0.0, LOW[side][1]], atol=1e-12)
    assert after.model.mass == pytest.approx(before.model.mass)
    assert np.array_equal(km.mocap.body_of(bvh, hips=(0.0, 0.0)).q, before.q)


def test_knees_keep_their_axis():
    """A leg that is bent in a plane stays so: its shank turns against the thigh about y only."""
    body = km.mocap.body_of(crouched(), hips=AHEAD)
    for side in FEET:
        _, x, y, z = np.abs(body.q[:, body.model.q_slice(f"{side} shank")]).T
        assert max(x.max(), z.max()) < 1e-6
        assert y.min() > 0.05


def test_legs_give_before_they_are_straight():
    leg = 0.8
    distance = np.linspace(leg - 3.0 * SOFT, leg + 3.0 * SOFT, 601)
    far = limit_leg_reach(distance, leg, SOFT)
    assert np.array_equal(far[distance < leg - SOFT], distance[distance < leg - SOFT])
    assert np.all(np.diff(far) >= 0.0)
    assert far.max() == leg
    assert np.abs(np.diff(far, 2)).max() < 1e-3 * SOFT  # no kink
    assert np.abs(far - distance)[distance <= leg].max() < 0.19 * SOFT


@pytest.mark.parametrize("hips", [AHEAD, LOW], ids=["ahead", "each by its own"])
def test_misplaced_hips_are_found(hips):
    truth = km.mocap.walking_of(analysed(good()))
    wrong = recording(km.mocap.body_of(good(), hips=hips))
    before = analysed(wrong)
    found = km.mocap.calibrate_hips(before)
    after = analysed(wrong, "calibrated")
    assert after.body.hips == found
    for side in FEET:
        assert np.abs(np.add(found[side], hips[side])).max() < 0.004
    misplaced, back = km.mocap.walking_of(before), km.mocap.walking_of(after)
    assert off(back, truth, "flexion") < 2.0 < 6.0 < off(misplaced, truth, "flexion")
    for bone, share in {"thigh": 0.65, "shank": 0.35, "foot": 0.45}.items():
        assert off(back, truth, bone) < share * off(misplaced, truth, bone)
    assert "knee at strike" in misplaced.outside
    assert "knee at strike" not in back.outside


def test_good_hips_stay():
    for forward, up in km.mocap.calibrate_hips(analysed(good())).values():
        assert np.hypot(forward, up) < 0.007


def test_several_recordings_have_one_calibration():
    bvh = good()
    halves = [km.Bvh(bvh.joints, bvh.frames[part], bvh.dt, "half") for part in (slice(260), slice(140, None))]
    both = km.mocap.calibrate_hips(*(analysed(half) for half in halves))
    each = [km.mocap.calibrate_hips(analysed(half)) for half in halves]
    for side in FEET:
        low, high = np.min([x[side] for x in each], axis=0), np.max([x[side] for x in each], axis=0)
        assert np.all(np.array(both[side]) >= low - 0.002)
        assert np.all(np.array(both[side]) <= high + 0.002)


def test_a_summary_says_where_hips_are():
    bent = analysed(crouched()).summary()
    assert "degrees, normal are 4 ± 4: hips may be misplaced" in bent
    assert "beyond two standard deviations of normal gait (Winter 1991) are knee at strike 2" in bent
    moved = analysed(crouched(), {"left": (0.01, 0.02), "right": (0.0, 0.0)}).summary()
    assert "hips are moved in the pelvis: the left one by +10.0 mm forward and +20.0 mm up\n" in moved
    assert "hips may be misplaced" not in moved


def test_wrong_hips_get_a_sentence():
    bvh = km.load_bvh(km.mocap.walk_file())
    still = km.Bvh(bvh.joints, np.tile(bvh.frames[:1], (100, 1)), bvh.dt, "still")
    for source, hips, why in (
        (bvh, "guessed", "hips 'guessed' must be 'recorded' or 'calibrated', or two lengths"),
        (bvh, (0.2, 0.0), r"hips \(0.2, 0.0\) must be two lengths, forward and up, of 0.1 m at most"),
        (bvh, (float("nan"), 0.0), "must be two lengths"), (bvh, (0.0, 0.0, 0.0), "must be two lengths"),
        (bvh, {"middle": (0.0, 0.0)}, "or two for each side"), (bvh, (0.0, 0.1), "leg would be .* mm too short"),
        (walk().body, (0.0, 0.01), "a Body, or a motion that is smooth, has its hips"),
        (still, "calibrated", "needs a walk: somebody is in the air, or stands"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=why):
            km.mocap.analyse(source, hips=hips)
    with pytest.raises(ValueError, match="needs a walk"):
        km.mocap.calibrate_hips()
    assert shifts_of({"left": (0.01, 0.0)}) == {"left": (0.01, 0.0), "right": (0.0, 0.0)}


def test_norms_are_of_adults_at_three_paces():
    for source in sources():
        for pace in ("slow", "natural", "fast"):
            for norm in km.mocap.norms(pace, source).values():
                assert norm.deviation > 0.0
                assert norm.high - norm.low == pytest.approx(4.0 * norm.deviation)
    assert km.mocap.norms("natural")["knee extension"].high == pytest.approx(1.48)
    assert km.mocap.norms("fast")["knee extension"].mean > km.mocap.norms("slow")["knee extension"].mean
    assert [km.mocap.pace_of(v, 0.9) for v in (0.5, 0.9, 1.3, 1.7)] == ["", "slow", "natural", "fast"]
    with pytest.raises(
        ValueError, match="there are no norms of 'Winter' at 'run': there are those of Winter, Schwartz"
    ):
        km.mocap.norms("run")


def test_who_stands_does_not_walk():
    bvh = km.load_bvh(km.mocap.walk_file())
    short = km.mocap.analyse(km.Bvh(bvh.joints, bvh.frames[:60], bvh.dt, "short"), methods=("smooth",))
    with pytest.raises(ValueError, match="there is no whole stance"):
        km.mocap.walking_of(short)


def test_the_command_takes_words_and_lengths():
    assert _hips("calibrated") == "calibrated"
    assert _hips("-0.02,0.01") == (-0.02, 0.01)
    assert _hips("-0.02,0.01,0,0.02") == {"left": (-0.02, 0.01), "right": (0.0, 0.02)}
    with pytest.raises(ValueError, match=r"--hips 0\.1: give two lengths, forward and up, or four"):
        _hips("0.1")
