"""The experiments of the thesis come out as they must."""

import numpy as np
import pytest

from kinemorph.scenes.bounce.collision_experiment import OBJECT_DENSITY, TABLE, draw, lines_of, measure
from kinemorph.scenes.thesis import experiments
from kinemorph.scenes.thesis.car_experiment import measure_crash
from kinemorph.scenes.thesis.cube_experiment import rest
from kinemorph.scenes.thesis.wall_experiment import stand, thesis_wall


@pytest.mark.parametrize("epsilon", experiments.EPSILONS)
@pytest.mark.parametrize("handling", [experiments.ALL, experiments.CLOSEST])
def test_a_cube_that_rests_does_not_spin(epsilon, handling):
    assert np.abs(rest(epsilon, handling).yaw).max() < 1e-3


def test_it_spins_steadily_with_the_settings_of_the_thesis():
    found = rest(0.01, experiments.CLOSEST, experiments.BOOST, 20.0)
    assert 20.0 < abs(found.spin) < 360.0
    rates = np.diff(found.yaw[::20])
    assert np.ptp(rates) < 0.1 * np.abs(rates).mean()


def test_a_wall_has_34_bricks_and_stands_as_still_as_that_of_the_thesis():
    assert len(thesis_wall(0.01, experiments.ALL)[1]) == 34
    for handling, epsilon in experiments.TABLE:
        found, his = stand(epsilon, handling), experiments.TABLE[handling, epsilon]
        for ours, printed in ((found.rotation, his.rotation), (found.offset, his.offset)):
            assert ours <= min(1e-3, printed if np.isfinite(printed) else 1.0)


def test_walls_and_stacks_of_other_sizes_stand_as_still():
    sizes, built = (0.4, 0.05), ((3, 3), (3, experiments.CUBES))
    found = experiments.others(sizes, built)
    for each in found:
        for walls in each:
            for size, one in zip(sizes, walls, strict=True):
                assert one.farthest < 0.01 * size
                assert one.strikes == 0
    lines = experiments.other_lines(found, sizes, built)
    assert len(lines) == 6
    assert lines[-1].startswith("| 3 cubes on each other | 0.1 % | ")


def test_tables_have_a_line_for_each_experiment():
    walls = [stand(0.01, experiments.ALL, seconds=0.1), stand(0.0, seconds=0.1)]
    lines = experiments.wall_lines(walls)
    assert "(27.1)" in lines[2]
    assert len(lines) == 4
    assert len(experiments.cube_lines([rest(0.1, experiments.ALL, seconds=0.5)])) == 3


@pytest.mark.parametrize("model", ["impulse", "timestep"])
def test_the_clock_of_a_crash_runs_on_and_knows_when_the_wall_is_hit(model, tmp_path):
    found = measure_crash(model, 3.0, runs=2)
    assert 2.0 < found.hit < 3.0
    np.testing.assert_allclose(found.t, np.linspace(0.0, 3.0, 31))
    assert (np.diff(found.took) > 0.0).all()
    assert len(experiments.crash_lines([found])) == 3
    before, after, whole = experiments.crash_times(found)
    assert min(before, after) <= whole <= max(before, after)
    assert experiments.draw_crashes([found], tmp_path).exists()


def test_collision_detection_is_measured_as_in_the_thesis(tmp_path):
    """Figs. 2.11 and 2.12 and table 2.1, of few sizes: numbers that do not depend on the machine."""
    found = measure((8, 32), (16, 64), (2, 16))
    assert [c.objects for c in found.crowds] == [16, 64]
    for c in found.crowds:
        assert c.pairs == pytest.approx(OBJECT_DENSITY * c.objects, rel=0.25)
        assert c.side < TABLE[64]
        assert c.step > 0.0
    assert found.walk[0.0] == {8: 1.0, 32: 1.0} or max(found.walk[0.0].values()) < 1.1  # what does not move is verified
    assert found.walk[5.0][32] > found.walk[5.0][8] > 1.0
    lines = lines_of(found)
    assert lines[2].startswith("| 16 | ")
    assert "(5) |" in lines[2]
    picture = draw(found, tmp_path / "collision.png")
    assert picture.stat().st_size > 10_000
