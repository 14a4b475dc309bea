"""Recorded motion: how long a BVH file of 31 joints takes to read, and its whole analysis."""

from __future__ import annotations

import numpy as np

import kinemorph as km
from benchmarks.measure import Row, arguments, repeat, report, time_side_by_side
from kinemorph.io.motion.bvh import BvhJoint, format_bvh, parse_bvh
from kinemorph.mocap.synthetic_walk import Gait

JOINTS = 31


def long_walk(frames: int) -> km.Bvh:
    """A walk of so many frames, by a skeleton with fingers."""
    bvh = km.mocap.synthetic_walk(seconds=frames / 100.0, gait=Gait())
    joints, columns = [*bvh.joints], [bvh.frames]
    hand = bvh.joint("RightHand")
    place = hand + 1  # joints come depth first: fingers right behind their hand
    extra = JOINTS - len(joints)
    fingers = [BvhJoint(f"finger {k}", hand, (0.0, -8.0, float(k)), joints[1].channels) for k in range(extra)]
    joints = [
        *joints[:place],
        *fingers,
        *(BvhJoint(j.name, j.parent + extra if j.parent >= place else j.parent, j.offset, j.channels, j.ends)
          for j in joints[place:]),
    ]  # fmt: skip
    first = bvh.columns(hand).stop
    columns = [bvh.frames[:, :first], np.zeros((len(bvh.frames), 3 * extra)), bvh.frames[:, first:]]
    return km.Bvh(tuple(joints), np.concatenate(columns, axis=1), bvh.dt, "long walk")


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    seconds = 2.0 if options.quick else 10.0
    short, long = long_walk(2000), long_walk(4500)
    text = format_bvh(short, 5).encode()
    error = float(np.abs(parse_bvh(text).frames - short.frames).max())
    calls = {"read": repeat(parse_bvh, text), "analyse": repeat(km.mocap.analyse, long)}
    times = time_side_by_side(calls, seconds, rounds=10)
    balance = km.mocap.analyse(long, methods=("smooth",)).balance / (70.0 * 9.81)
    rows = [
        Row("mocap", f"2000 frames, {JOINTS} joints", "read BVH, s", 1e-6 * times["read"], None, "", error),
        Row("mocap", f"4500 frames, {JOINTS} joints", "whole analysis, s", 1e-6 * times["analyse"], None, "", balance),
    ]
    report("recorded motion", rows, options.json, ("kinemorph", "numpy", "numba", "scipy"))


if __name__ == "__main__":
    main()
