"""The human figure: any mass, any height, both sexes, both tables."""

import numpy as np
import pytest

import kinemorph as km
from kinemorph.mocap.body.figure import SIMPLE, both, pose


@pytest.mark.parametrize("table", ["de Leva", "Winter"])
@pytest.mark.parametrize("sex", ["male", "female"])
def test_figures_have_their_mass_and_height(table, sex):
    model = km.human(mass=58.5, height=1.62, sex=sex, table=table)
    assert model.mass == pytest.approx(58.5, rel=1e-12)
    assert model.nv == 46
    data = km.Data(model)
    km.kinematics(model, data, km.neutral(model))
    heel, toe = (km.pose_of(model, data, f"left {x}").position for x in ("heel", "toe"))
    top = km.pose_of(model, data, "head").position[2] + 0.182 * 1.62
    assert top - heel[2] == pytest.approx(1.62, rel=0.01)
    assert toe[0] - heel[0] == pytest.approx(0.152 * 1.62)


def test_figures_scale():
    """Twice the height with eight times the mass: moments of inertia are those of a similar body."""
    small, large = km.human(40.0, 1.0), km.human(320.0, 2.0)
    q = km.random_configuration(small, 1)
    v = np.random.default_rng(1).normal(size=small.nv)
    v[3:6] = 0.0
    q[:3] = 0.0
    kinetic = [km.energy(m, km.Data(m), q, v).kinetic for m in (small, large)]
    assert kinetic[1] == pytest.approx(32.0 * kinetic[0], rel=1e-9)


def test_left_and_right_are_mirror_images():
    model = km.human()
    posture = both(thigh=(0.3, -0.5, 0.1), shank=0.6, upper_arm=(0.4, -0.2, 0.1), forearm=0.5)
    centre = km.com(model, km.Data(model), pose(model, posture))
    assert centre[1] == pytest.approx(0.0, abs=1e-12)


def test_welded_parts_keep_the_mass():
    assert km.human(welded=SIMPLE).mass == pytest.approx(km.human().mass)
    assert km.human(welded=SIMPLE).nv == 22


def test_wrong_arguments_get_a_sentence():
    with pytest.raises(ValueError, match=r"human: mass is -1.0, and must be from 0.5 to 2000"):
        km.human(mass=-1.0)
    with pytest.raises(TypeError, match=r"human: mass is '70', and must be a real number"):
        km.human(mass="70")
    with pytest.raises(TypeError, match=r"human: height is None, and must be a real number"):
        km.human(height=None)
    with pytest.raises(ValueError, match="there is no part 'tail' to weld"):
        km.human(welded=["tail"])
    with pytest.raises(ValueError, match="there is no table 'Clauser'"):
        km.human(table="Clauser")
