"""The walk that comes with kinemorph, and the recordings of others."""

import numpy as np
import pytest
from tests.mocap.samples import FEET, walk
from tests.mocap_files import own_recording, recording

import kinemorph as km
from kinemorph.mocap.walk import quintic


def test_the_file_is_what_the_code_makes():
    file, made = km.load_bvh(km.mocap.walk_file()), km.mocap.synthetic_walk()
    assert file.names == made.names
    assert np.abs(file.frames - made.frames).max() < 1e-3
    assert km.mocap.walk_file().stat().st_size < 200_000


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


def test_short_and_still_recordings_are_analysed():
    bvh = km.load_bvh(km.mocap.walk_file())
    short = km.mocap.analyse(km.Bvh(bvh.joints, bvh.frames[:12], bvh.dt, "short"))
    assert np.isfinite(short.loads["smooth"].tau).all()
    assert "mean vertical force" in short.summary()
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


# Peaks of normal gait by body mass are about: hip 0.3 to 1.2 and -0.4 to -1.4, knee 0.2 to 1.1, ankle 1.2 to 1.8 (D. A.
# Winter, The Biomechanics and Motor Control of Human Gait, 1991; M. P. Kadaba et al., J. Orthop. Res. 7, 1989, 849).
# "knee" is what the knee would bear if it bent by 18 degrees at most, as knees do; in these recordings it bends by 26
# to 41, and so bears more (docs/mocap.md).
PEAKS = {
    "thigh": ((-1.6, -0.4), (0.2, 1.3)), "shank": ((-0.9, 0.0), (0.9, 2.5)), "foot": ((-1.6, 0.1), (1.2, 2.4)),
    "knee": ((-1.2, 0.0), (0.6, 1.5)),
}  # fmt: skip
USUAL = np.radians(18.0)
WALKS = [
    ("02_01", "02_02"), ("07_01", "07_02", "07_03"), ("08_01", "08_02", "08_03"), ("12_01", "12_02", "12_03"),
    ("16_15", "16_16", "16_31", "16_32"), ("35_01", "35_02", "35_03"),
]  # fmt: skip


def knee_of_usual_flexion(analysis: km.mocap.Analysis, side: str) -> np.ndarray:
    """The knee's extension moment without what it bears because it stands further in front than people's.

    Hip, ankle and the ground's force stay; the knee lies so far in front of the line between them as its flexion says.
    """
    links = analysis.model.links
    thigh, shank = (np.linalg.norm(links["p"][analysis.model.link(f"{side} {end}")]) for end in ("shank", "foot"))

    def ahead(flexion: np.ndarray) -> np.ndarray:
        leg = np.sqrt(thigh**2 + shank**2 + 2.0 * thigh * shank * np.cos(flexion))
        return thigh * shank * np.sin(flexion) / leg

    flexion = analysis.flexion(side, "shank")
    force = np.linalg.norm(analysis.force(side), axis=1) / analysis.body.mass
    return analysis.extension(side, "shank") - force * (ahead(flexion) - ahead(np.minimum(flexion, USUAL)))


@pytest.mark.parametrize("names", WALKS, ids=lambda names: names[0][:2])
def test_people_who_walk_have_the_moments_of_normal_gait(names):
    curves = {what: [] for what in ("force", "flexion", *PEAKS)}
    for name in names:
        analysis = km.mocap.analyse(own_recording(f"{name}.bvh"), methods=("smooth",))
        assert analysis.ground[analysis.reliable, 2].mean() == pytest.approx(analysis.weight, rel=0.01)
        for side, stance in analysis.stances():
            at = np.linspace(stance.start, stance.end - 1, 51)
            found = {bone: analysis.extension(side, bone) for bone in ("thigh", "shank", "foot")}
            found["force"] = analysis.force(side)[:, 2] / analysis.weight
            found["flexion"] = np.degrees(analysis.flexion(side, "shank"))
            found["knee"] = knee_of_usual_flexion(analysis, side)
            for what, values in found.items():
                curves[what].append(np.interp(at, np.arange(len(values)), values))
    mean = {what: np.mean(values, axis=0) for what, values in curves.items()}
    force = mean["force"]
    assert 0.9 < force[:20].max() < 1.4
    assert 0.6 < force[18:32].min() < 0.95
    assert 0.85 < force[32:].max() < 1.35
    for what, (lowest, highest) in PEAKS.items():
        assert lowest[0] < mean[what].min() < lowest[1], what
        assert highest[0] < mean[what].max() < highest[1], what
    assert 24.0 < mean["flexion"][:20].max() < 45.0  # people's: 15 to 20
    assert mean["foot"].argmax() > 25  # push-off comes late
    assert mean["shank"].argmax() < 20  # and the knee bears early
