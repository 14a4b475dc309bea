"""Support-rooted inverse dynamics: what must be so whatever the motion."""

import numpy as np
import pytest
from tests.mocap.samples import FEET, body, by_name, standing, walk

import kinemorph as km
from kinemorph.mocap.contact import Contacts
from kinemorph.mocap.double_support import PIVOT
from kinemorph.mocap.link_motion import places_of
from kinemorph.mocap.smooth import Motion
from kinemorph.mocap.support_handover import LONGEST_EXTENSION, extend_contacts
from kinemorph.spatial.quaternion_arrays import rotate_all


def test_joint_moments_are_those_of_the_pelvis_with_the_ground_applied():
    """Rooted at a foot, or at the pelvis with the wrench that the foot gets: the same, and nothing left on the root."""
    analysis = walk()
    model, motion = analysis.model, analysis.motion
    data = km.Data(model)
    for method, loads in analysis.loads.items():
        for k in range(0, len(analysis.t), 7):
            external = np.zeros((model.n, 6))
            for side in FEET:
                external[model.link(f"{side} foot")] = loads.wrenches[side][k]
            tau = km.rnea(model, data, motion.q[k], motion.v[k], motion.a[k], external)
            assert np.abs(tau[:6]).max() < 1e-10 * analysis.weight, (method, k)
            assert np.abs(tau[6:] - loads.tau[k, 6:]).max() < 1e-10 * analysis.weight, (method, k)


def test_single_support_agrees_with_pinocchio():
    pin = pytest.importorskip("pinocchio")
    analysis = walk()
    model, motion = analysis.model, analysis.motion
    frames = np.flatnonzero(analysis.contacts.kinds == "left")[::9]
    state = km.State(motion.q[frames[0]], motion.v[frames[0]], motion.a[frames[0]])
    seen = km.reroot(model, state, "left foot").model
    peer = pin.Model()
    peer.gravity.linear[:] = model.gravity
    ids = {}
    for i, link in enumerate(seen.links):
        kind = pin.JointModelFreeFlyer() if i == 0 else pin.JointModelSpherical()
        place = pin.SE3(link["R"].reshape(3, 3), link["p"])
        ids[i] = peer.addJoint(ids.get(int(link["parent"]), 0), kind, place, seen.joint_names[i])
        I = np.zeros((3, 3))
        I[np.triu_indices(3)] = link["I"]
        I = I + I.T - np.diag(np.diag(I))
        c = link["h"] / link["mass"]
        about = I - link["mass"] * (c @ c * np.eye(3) - np.outer(c, c))
        peer.appendBodyToJoint(ids[i], pin.Inertia(float(link["mass"]), c, about), pin.SE3.Identity())
    data = peer.createData()
    for k in frames:
        there = km.reroot(model, km.State(motion.q[k], motion.v[k], motion.a[k]), "left foot").state
        q, v, a = np.empty(peer.nq), np.empty(peer.nv), np.empty(peer.nv)
        for i in range(seen.n):
            joint = peer.joints[ids[i]]
            mine_q, mine_v = there.q[seen.q_slice(i)], there.v[seen.v_slice(i)]
            mine_a = there.a[seen.v_slice(i)]
            if i == 0:  # Pinocchio: linear first, x y z w, and spatial accelerations
                q[joint.idx_q : joint.idx_q + 7] = [*mine_q[:3], *mine_q[4:], mine_q[3]]
                v[joint.idx_v : joint.idx_v + 6] = [*mine_v[3:], *mine_v[:3]]
                a[joint.idx_v : joint.idx_v + 6] = [*mine_a[3:], *mine_a[:3]]
            else:
                q[joint.idx_q : joint.idx_q + 4] = [*mine_q[1:], mine_q[0]]
                v[joint.idx_v : joint.idx_v + 3], a[joint.idx_v : joint.idx_v + 3] = mine_v, mine_a
        tau = pin.rnea(peer, data, q, v, a)
        force, moment = (rotate_all(there.q[3:7], tau[x]) for x in (slice(0, 3), slice(3, 6)))
        moment = moment + np.cross(there.q[:3] - analysis.ankles["left"][k], force)
        expected = analysis.loads["smooth"].wrenches["left"][k]
        assert np.abs(np.concatenate([moment, force]) - expected).max() < 1e-9 * analysis.weight
        for i in range(1, seen.n):
            name = seen.joint_names[i]
            theirs = tau[peer.joints[ids[i]].idx_v :][:3]
            if seen.links[i]["turned"]:  # its moment is on the other bone, in that one's frame
                turn = there.q[seen.q_slice(i)]
                theirs = -rotate_all(turn, theirs)
            assert np.abs(theirs - analysis.moment(name)[k]).max() < 1e-9 * analysis.weight, name


def test_forces_are_mass_times_acceleration():
    analysis = walk()
    assert analysis.balance < 1e-6 * analysis.weight
    total = sum(analysis.force(side, "least-torque") for side in FEET)
    assert np.abs(total - analysis.ground).max() < 1e-9 * analysis.weight


def test_the_mean_vertical_force_over_whole_strides_is_the_weight():
    analysis = walk()
    stride = round(km.mocap.Gait().stride / analysis.body.dt)
    start = 50
    mean = analysis.ground[start : start + 2 * stride].mean(axis=0)
    assert mean[2] == pytest.approx(analysis.weight, rel=0.01)
    assert np.abs(mean[:2]).max() < 0.01 * analysis.weight


def test_the_centre_of_pressure_lies_in_the_foot():
    analysis = walk()
    places = _feet(analysis)
    for i, side in enumerate(FEET):
        alone = np.flatnonzero((analysis.contacts.kinds == side) & analysis.reliable)
        R, p = places.R[alone, i], places.p[alone, i]
        local = np.einsum("fji,fj->fi", R, analysis.pressure(side)[alone] - p)
        foot = analysis.body.feet[side]
        inside = (local[:, 0] > foot.heel[0] - 0.02) & (local[:, 0] < foot.toe[0] + 0.02)
        inside &= np.abs(local[:, 1]) < 0.5 * foot.breadth + 0.02
        assert inside.mean() > 0.97
        rolls = local[:, 0][: len(local) // 3].mean(), local[:, 0][-len(local) // 3 :].mean()
        assert rolls[1] > rolls[0]  # forward, over the foot


def _feet(analysis):
    from kinemorph.mocap.link_motion import places_of

    return places_of(analysis.model, analysis.motion, [f"{side} foot" for side in FEET])


def test_both_feet_press_within_their_soles():
    analysis = walk()
    places = _feet(analysis)
    both = np.flatnonzero((analysis.contacts.kinds == "double") & analysis.reliable)
    for i, side in enumerate(FEET):
        pressed = both[analysis.force(side)[both, 2] > 0.2 * analysis.weight]
        local = np.einsum("fji,fj->fi", places.R[pressed, i], analysis.pressure(side)[pressed] - places.p[pressed, i])
        foot = analysis.body.feet[side]
        assert ((local[:, 0] > foot.heel[0] - 0.03) & (local[:, 0] < foot.toe[0] + 0.03)).mean() > 0.95


def test_nothing_holds_a_body_in_flight():
    """A figure thrown by forward dynamics, limbs moving: no foot bears anything, and the root needs no force."""
    figure = body()
    model, data = figure.model, km.Data(figure.model)
    rng = np.random.default_rng(3)
    v = 1.5 * rng.normal(size=model.nv)
    v[3:6] = (1.0, 0.0, 3.0)
    q = km.neutral(model)
    q[2] = 2.0
    path = km.rollout(model, data, q, v, dt=1e-3, steps=600, every=5)
    thrown = body(path.q, 0.005)
    analysis = km.mocap.analyse(thrown, cutoff=None, contacts=standing(len(path.q)))
    inner = analysis.reliable.copy()
    inner[:8] = inner[-8:] = False
    assert analysis.contacts.phases[0].kind == "flight"
    assert analysis.unexplained[inner].max() < 1e-3
    assert np.abs(analysis.loads["smooth"].tau[inner, 6:]).max() < 1e-3 * analysis.weight
    assert not analysis.ground.any()


def test_load_goes_over_without_jumps():
    """Where both feet begin to stand, and where they end to, neither bears much more or less than a frame before."""
    analysis = walk()
    kinds = analysis.contacts.kinds
    changes = np.flatnonzero((kinds[1:] != kinds[:-1]) & analysis.reliable[1:] & analysis.reliable[:-1])
    assert len(changes) > 6
    for side in FEET:
        jumps = np.abs(np.diff(analysis.force(side), axis=0))[changes] / analysis.weight
        assert jumps[:, 2].max() < 0.1
        assert jumps[:, :2].max() < 0.06


def test_forces_of_a_step_meet_above_the_hips():
    """Seen from the side, both lines of force go through one point, in the middle of whose handing over nobody errs."""
    analysis = walk()
    seen = 0
    for phase in analysis.contacts.phases:
        if phase.kind != "double" or not analysis.reliable[phase.start : phase.end].all():
            continue
        for k in range(phase.start, phase.end):
            ahead = rotate_all(analysis.motion.q[k, 3:7], np.array([1.0, 0.0, 0.0])) * [1.0, 1.0, 0.0]
            ahead /= np.linalg.norm(ahead)
            forces = [analysis.force(side)[k] for side in FEET]
            if min(force[2] for force in forces) < 0.25 * analysis.weight:
                continue
            slopes = [force @ ahead / force[2] for force in forces]
            points = [analysis.pressure(side)[k] @ ahead for side in FEET]
            height = (points[1] - points[0]) / (slopes[0] - slopes[1])
            floor = analysis.contacts.floor(analysis.motion.q[k, :3])
            assert height == pytest.approx(PIVOT * (analysis.motion.q[k, 2] - floor), rel=0.1)
            seen += 1
    assert seen > 10


def test_who_bears_alone_bears_below_the_sole():
    """Contacts that begin late and end early are made longer, until each foot that stands alone can do so."""
    analysis = walk()
    whole = analysis.contacts
    places = places_of(analysis.model, analysis.motion, [f"{side} foot" for side in FEET])
    given = (analysis.model, analysis.motion, places, analysis.body.feet, analysis.body.dt)
    late = {side: flags & np.roll(flags, 3) & np.roll(flags, -4) for side, flags in whole.feet.items()}
    cut = Contacts(late, whole.heels, whole.balls, whole.level, whole.slope)
    found = extend_contacts(cut, *given)
    most = round(LONGEST_EXTENSION / analysis.body.dt)
    for side in FEET:
        assert not (late[side] & ~found.feet[side]).any()
        lost, missing = (whole.feet[side] & ~x.feet[side] & analysis.reliable for x in (cut, found))
        assert missing.sum() < 0.6 * lost.sum()
        near = np.convolve(late[side], np.ones(2 * most + 1), "same") > 0.0
        assert not (found.feet[side] & ~near).any()
    assert np.array_equal(extend_contacts(whole, *given).feet["left"], whole.feet["left"])


def test_measured_forces_decide_double_support():
    analysis = walk()
    share = analysis.loads["least-torque"].wrenches["right"].copy()
    share[:, :3] += np.cross(analysis.ankles["right"], share[:, 3:])  # at the world's origin
    again = km.mocap.analyse(
        analysis.body, contacts=analysis.contacts, motion=analysis.motion, methods=("measured", "smooth"),
        forces={"right": share},
    )  # fmt: skip
    assert again.method == "measured"
    assert np.abs(again.loads["measured"].tau - analysis.loads["least-torque"].tau).max() < 1e-8 * analysis.weight
    low, high = again.band("left thigh")
    both = again.contacts.kinds == "double"
    assert np.array_equal(low[~both], high[~both])
    assert (high[both] - low[both]).max() > 1.0
    with pytest.raises(ValueError, match="measured forces need 'right'"):
        km.mocap.analyse(
            analysis.body, contacts=analysis.contacts, motion=analysis.motion, methods=("measured",), forces={}
        )


def test_least_torque_presses_within_the_cones_and_is_least():
    analysis = walk()
    assert analysis.missed < 0.05
    both = (analysis.contacts.kinds == "double") & analysis.reliable
    norms = {}
    for method in analysis.loads:
        norms[method] = np.linalg.norm(analysis.loads[method].tau[both, 6:], axis=1)
        for side in FEET:
            force = analysis.force(side, method)[both]
            if method == "least-torque":
                assert force[:, 2].min() > -0.03 * analysis.weight
                sliding = np.abs(force[:, :2]).sum(axis=1) - 0.8 * force[:, 2]
                assert sliding.max() < 0.05 * analysis.weight
    assert norms["least-torque"].mean() < norms["smooth"].mean()


def test_least_torque_without_cones_is_that_of_closed_chains():
    """Two feet on the ground are a loop: with wide soles and much friction the answer is that of N&Y."""
    from dataclasses import replace

    figure = body()
    model = figure.model
    q = km.neutral(model)
    bend = {"thigh": (-0.5, 0.12), "shank": (0.9, 0.0), "foot": (-0.4, -0.1)}
    for side, sign in zip(FEET, (1.0, -1.0), strict=True):
        for bone, (pitch, roll) in bend.items():
            turn = np.array([1.0, 0.5 * sign * roll, 0.5 * pitch * (1.2 if side == "left" else 0.8), 0.0])
            q[model.q_slice(f"{side} {bone}")] = turn / np.linalg.norm(turn)
    frames = 8
    still = Motion(np.tile(q, (frames, 1)), np.zeros((frames, model.nv)), np.zeros((frames, model.nv)))
    data = km.Data(model)
    km.kinematics(model, data, q)
    low = min(km.pose_of(model, data, f"{side} foot").position[2] for side in FEET) - 0.07
    flags = {side: np.ones(frames, dtype=bool) for side in FEET}
    contacts = Contacts(flags, flags, flags, low, np.zeros(2))
    wide = {
        side: replace(f, heel=f.heel - [1, 0, 0], toe=f.toe + [1, 0, 0], breadth=3.0) for side, f in figure.feet.items()
    }
    figure = replace(figure, feet=wide, q=still.q)
    analysis = km.mocap.analyse(
        figure, motion=still, contacts=contacts, methods=("least-torque",), friction=20.0, cutoff=None
    )
    mine = analysis.loads["least-torque"].tau[4]

    at = km.pose_of(model, data, "left foot")
    held = km.reroot(model, km.State(q, np.zeros(model.nv)), "left foot", km.Joint.fixed(), at=at)
    data = km.Data(held.model)
    km.kinematics(held.model, data, held.state.q)
    place = km.pose_of(held.model, data, "right foot")
    loop = km.connect(held.model, held.state, None, "right foot", km.Joint.fixed(name="ground"), at=place, how="loop")
    closed = loop.model
    found = km.inverse_dynamics(closed, km.Data(closed), loop.state.q, np.zeros(closed.nv), np.zeros(closed.nv))
    back = km.reroot(closed, km.State(loop.state.q, np.zeros(closed.nv), None, found.tau), "pelvis")
    theirs = by_name(back.model, back.state.tau[None], model)[0]
    assert found.residual < 1e-9
    assert np.abs(mine[6:] - theirs[6:]).max() < 1e-3 * np.abs(theirs).max()


def test_motion_is_rerooted_as_each_frame_is():
    from kinemorph.structure.reroot_motion import reroot_motion

    analysis = walk()
    model, m = analysis.model, analysis.motion
    chosen = slice(40, 60)
    tau = np.random.default_rng(0).normal(size=m.v.shape)
    seen = reroot_motion(model, m.q[chosen], m.v[chosen], m.a[chosen], "right hand", tau[chosen])
    for k in range(40, 60, 6):
        one = km.reroot(model, km.State(m.q[k], m.v[k], m.a[k], tau[k]), "right hand")
        assert one.model.names == seen.model.names
        for name in ("R", "p", "mass", "h", "I", "kind", "parent"):
            assert np.array_equal(one.model.links[name], seen.model.links[name])
        for mine, theirs in zip(
            (seen.q, seen.v, seen.a, seen.tau), (one.state.q, one.state.v, one.state.a, one.state.tau)
        ):
            assert np.array_equal(mine[k - 40], theirs)
    assert seen.pose_error < 1e-12
    assert seen.twist_error < 1e-11
    with pytest.raises(ValueError, match=r"v has shape \(20, 3\), expected"):
        reroot_motion(model, m.q[chosen], m.v[chosen, :3], m.a[chosen], "right hand")
    bad = m.q[chosen].copy()
    bad[3, 4] = np.nan
    with pytest.raises(ValueError, match=r"q\[3, 4\] is nan"):
        reroot_motion(model, bad, m.v[chosen], m.a[chosen], "right hand")


def test_wrong_methods_are_refused():
    with pytest.raises(ValueError, match="there is no method 'magic'"):
        km.mocap.analyse(km.mocap.walk_file(), methods=("magic",))
    with pytest.raises(ValueError, match="'measured' and forces belong together"):
        km.mocap.analyse(km.mocap.walk_file(), methods=("measured",))
