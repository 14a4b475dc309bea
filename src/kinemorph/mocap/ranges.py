"""How far joints of a person move: the limits of `km.human`.

Ranges are those of the American Academy of Orthopaedic Surgeons (Joint Motion: Method of Measuring and Recording, 1965;
W. B. Greene, J. D. Heckman, The Clinical Measurement of Joint Motion, 1994), counted from the posture in which a figure
stands. Its shoulder is two joints, so that the upper arm has the range of the glenohumeral joint alone and the clavicle
that of the sternoclavicular joint, with which the shoulder blade moves (M. Dutton, Orthopaedic Examination, Evaluation,
and Intervention, table of ranges). A forearm does not turn by itself here: its pronation is in the wrist; nor does a
shank, whose rotation with a bent knee (I. A. Kapandji, The Physiology of the Joints) is in the ankle.

Angles are degrees, of the left side, about the axes of a bone: x forward, y to the left, z up. Right sides are mirror
images. Of a ball joint they are parts of its rotation vector, which are the clinical angles in the planes of these
axes; their corners lie within half a turn.
"""

from __future__ import annotations

import numpy as np

from kinemorph.multibody.checks import Array

HINGES = {
    "shank": (0.0, 135.0),  # flexion
    "forearm": (0.0, 150.0),
}
BALLS = {  # lowest and highest angle about x, y and z
    # lateral flexion to the right and the left, extension and flexion, rotation to the right and the left
    "chest": ((-35.0, 35.0), (-25.0, 80.0), (-45.0, 45.0)),
    "head": ((-45.0, 45.0), (-45.0, 45.0), (-60.0, 60.0)),
    # depression and elevation, rotation backward and forward, protraction and retraction
    "clavicle": ((-5.0, 45.0), (-45.0, 10.0), (-15.0, 15.0)),
    # adduction and abduction, flexion and extension, internal and external rotation
    "upper arm": ((-50.0, 100.0), (-110.0, 60.0), (-70.0, 90.0)),
    "thigh": ((-30.0, 45.0), (-120.0, 30.0), (-45.0, 45.0)),
    # flexion and extension, radial and ulnar deviation, pronation and supination of the forearm
    "hand": ((-80.0, 70.0), (-20.0, 30.0), (-80.0, 80.0)),
    # inversion and eversion, dorsal and plantar flexion, internal and external rotation of the shank
    "foot": ((-35.0, 15.0), (-20.0, 50.0), (-30.0, 40.0)),
}


def range_of(name: str) -> tuple[Array, Array] | None:
    """Lower and upper limits (rad) of the joint that carries a bone, None if it has none."""
    side, _, part = name.partition(" ")
    part = name if side not in ("left", "right") else part
    if part in HINGES:
        low, high = (np.radians([x]) for x in HINGES[part])
        return low, high
    if part not in BALLS:
        return None
    low, high = np.radians(BALLS[part]).T
    if side == "right":  # of a mirror image, angles about x and z change their sign
        sign = np.array([-1.0, 1.0, -1.0])
        low, high = np.minimum(sign * low, sign * high), np.maximum(sign * low, sign * high)
    return low, high
