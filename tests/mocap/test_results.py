"""What comes of an analysis: tables, plots, a replay, a film, a command."""

import subprocess
import sys

import numpy as np
import pytest
from tests.mocap.samples import FEET, walk
from tests.needs import library

import kinemorph as km


@pytest.mark.parametrize("suffix", ["csv", "h5"])
def test_tables_hold_everything(suffix, tmp_path):
    if suffix == "h5":
        library("h5py")
    analysis = walk()
    km.mocap.save(analysis, tmp_path / f"walk.{suffix}")
    table = km.load_table(tmp_path / f"walk.{suffix}")
    assert np.allclose(table["time"], analysis.t)
    assert np.allclose(table["left force z [N]"], analysis.force("left")[:, 2])
    assert np.allclose(
        table["right thigh moment y [N m] (least-torque)"], analysis.moment("right thigh", "least-torque")[:, 1]
    )
    assert np.allclose(table["left foot power [W]"], analysis.power("left foot"))
    assert np.array_equal(np.isnan(table["left pressure x [m]"]), np.isnan(analysis.pressure("left")[:, 0]))


def test_powers_add_up_to_the_change_of_energy():
    """What joints give is what the body gains, but for what the ground does to a foot that rolls."""
    analysis = walk()
    model, m = analysis.model, analysis.motion
    data = km.Data(model)
    energy = np.array([km.energy(model, data, q, v).total for q, v in zip(m.q, m.v, strict=True)])
    given = sum(analysis.power(joint) for joint in analysis.joints)
    places = km.mocap.link_motion.places_of(model, m, [f"{side} foot" for side in FEET])
    for i, side in enumerate(FEET):
        wrench = analysis.loads[analysis.method].wrenches[side]
        given = given + (wrench[:, :3] * places.w[:, i]).sum(axis=1) + (wrench[:, 3:] * places.v[:, i]).sum(axis=1)
    slope = np.gradient(energy, analysis.body.dt)
    inner = slice(20, -20)
    assert np.abs(given - slope)[inner].max() < 0.02 * np.abs(slope[inner]).max()


def test_plots_and_replay_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    analysis = walk()
    km.mocap.plot(analysis, tmp_path / "curves.png")
    km.mocap.plot_stances(analysis, tmp_path / "stances.png")
    km.mocap.replay(analysis, tmp_path / "walk.html", rate=10.0)
    for name in ("curves.png", "stances.png", "walk.html"):
        assert (tmp_path / name).stat().st_size > 10_000


def test_the_foot_that_stands_is_the_root():
    analysis = walk()
    recording = km.mocap.recording_of(analysis)
    assert len(recording.t) == len(analysis.t)
    phases = analysis.contacts.phases
    assert [event.what.split()[0] for event in recording.chapters] == [phase.kind for phase in phases]
    for event, phase in zip(recording.chapters, phases, strict=True):
        assert event.roots == ("right foot" if phase.kind == "right" else "left foot",)
        assert event.frame == phase.start
    data = km.Data(analysis.model)
    for k in range(0, len(analysis.t), 50):
        km.kinematics(analysis.model, data, analysis.motion.q[k])
        row = [body.name for body in recording.bodies].index("right hand")
        # each body keeps the frame that it had first: here of the model that is rooted at the left foot
        assert np.isfinite(recording.poses[k, row]).all()


def test_a_summary_says_what_was_found():
    text = walk().summary()
    for words in ("unit: centimetres", "y is up, 100 Hz, 400 frames", "best [Hz]", "% of the weight", "hip: extension"):
        assert words in text


def test_the_command_leaves_its_results(tmp_path):
    pytest.importorskip("matplotlib")
    command = [sys.executable, "-m", "kinemorph.cli", "mocap", "--mass", "60", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "mean vertical force" in done.stdout
    assert sorted(x.name for x in tmp_path.iterdir()) == [
        "walk.csv",
        "walk.png",
        "walk_replay.html",
        "walk_stances.png",
    ]
    missing = subprocess.run([*command[:4], "none.bvh"], capture_output=True, text=True)
    assert missing.returncode == 2
    assert missing.stderr.strip() == "kinemorph: none.bvh: there is no such file"
