"""The successor frame of a joint on its link."""

from __future__ import annotations

from typing import Any

from kinemorph.jit.api import kernel
from kinemorph.spatial.mat3 import Mat3, mul, mul_vec, tmul_vec, transpose
from kinemorph.spatial.rows import load3, load9
from kinemorph.spatial.vec3 import Vec3, add, sub
from kinemorph.structure.forest.layout import NOT_GIVEN, ON_BODY


@kernel
def frame_on_link(data: Any, R: Mat3, p: Vec3) -> tuple[Mat3, Vec3]:
    """A pose in the world, in the frame of a link."""
    E = load9(data["R"])
    return mul(transpose(E), R), tmul_vec(E, sub(p, load3(data["p"])))


@kernel
def successor_frame(edit: Any, data: Any, bodies: Any, body: int, R: Mat3, p: Vec3) -> tuple[Mat3, Vec3]:
    """The successor frame of a joint on its link: as the edit gives it, or else the joint's pose (R, p) in the world.

    The base, body -1, has the world's frame for its own.
    """
    if edit["held"] == NOT_GIVEN:
        return frame_on_link(data, R, p)
    on_R, on_p = load9(edit["on_R"]), load3(edit["on_p"])
    if edit["held"] == ON_BODY and body >= 0:
        E = load9(bodies[body]["R"])
        return mul(E, on_R), add(load3(bodies[body]["p"]), mul_vec(E, on_p))
    return on_R, on_p
