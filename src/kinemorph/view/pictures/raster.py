"""A small rasteriser: shaded triangles with a depth buffer, and shadows on the ground and on each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph.jit.api import entry
from kinemorph.spatial.arguments.checks import check_whole
from kinemorph.spatial.pose import Array, vector

Image = npt.NDArray[np.uint8]

SAMPLES = 2  # per pixel and axis
LARGEST_SIDE = 10_000  # pixels
LIGHT_DIRECTION = np.array([0.45, -0.35, 0.82]) / np.linalg.norm([0.45, -0.35, 0.82])  # towards the light, world axes
SKY = np.array([0.93, 0.95, 0.98])
GROUND = np.array([0.80, 0.82, 0.86])
DIRECT = 0.52  # of a face's light, where it faces the light
SHADOW_SAMPLES = 2048  # samples, of the picture that the light sees
FRAME_GROWTH = 1.08  # how much wider a picture is than what it frames
VERTICAL_ANGLE = 1e-6  # rad between where a camera looks and the vertical, below which it looks straight up or down
LIGHT_VIEW_DEGREES = 1.0  # degrees, of that picture: rays that are nearly parallel


@dataclass(frozen=True, eq=False)
class Solid:
    """Triangles in the world, each with a colour (red, green, blue from 0 to 1)."""

    vertices: Array  # (n, 3)
    faces: npt.NDArray[np.int32]  # (m, 3)
    colours: Array  # (m, 3)


@dataclass(frozen=True)
class Camera:
    """Looks from `eye` at `target`; z is up, and y where it looks straight up or down.

    `angle` is the vertical field of view in degrees.
    """

    eye: tuple[float, float, float]
    target: tuple[float, float, float]
    angle: float = 30.0

    def axes(self) -> tuple[Array, Array]:
        """Rows right, up, backward; and the eye."""
        eye = vector(self.eye, 3, "camera: eye")
        back = eye - vector(self.target, 3, "camera: target")
        back = back / np.linalg.norm(back)
        right = np.cross([0.0, 0.0, 1.0], back)
        if np.linalg.norm(right) < VERTICAL_ANGLE:
            right = np.cross([0.0, 1.0, 0.0], back)
        right = right / np.linalg.norm(right)
        return np.stack([right, np.cross(back, right), back]), eye

    def project(self, points: Array, width: int, height: int) -> Array:
        """Pixel x, pixel y (down) and depth of points."""
        R, eye = self.axes()
        p = (points - eye) @ R.T
        focus = 0.5 * height / np.tan(np.radians(self.angle) / 2.0)
        depth = np.maximum(-p[:, 2], 1e-6)
        return np.stack([0.5 * width + focus * p[:, 0] / depth, 0.5 * height - focus * p[:, 1] / depth, depth], axis=1)

    @staticmethod
    def framing(points: Array, direction: Iterable[float], aspect: float, angle: float = 30.0) -> Camera:
        """A camera that looks along minus `direction` and just sees all points; `aspect` is width by height."""
        target = 0.5 * (points.min(axis=0) + points.max(axis=0))
        away = vector(direction, 3, "camera: direction")
        longest = float(np.abs(away).max())
        if not longest > 0.0:
            raise ValueError("camera: direction (0, 0, 0) is none; say from where to look")
        if not 1e-100 < longest < 1e100:  # their squares, and places so far away, are no numbers
            away = away / longest
        R, _ = Camera((*(target + away).tolist(),), (*target.tolist(),)).axes()
        x, y, depth = ((points - target) @ R.T).T
        tangent = np.tan(np.radians(angle) / 2.0) / FRAME_GROWTH
        # four planes through the eye, one at each edge of the picture, and no point beyond any of them
        right, left = (float(np.max(side * x + tangent * aspect * depth)) for side in (1.0, -1.0))
        above, below = (float(np.max(side * y + tangent * depth)) for side in (1.0, -1.0))
        distance = max((right + left) / (2.0 * tangent * aspect), (above + below) / (2.0 * tangent), 1e-3)
        target = target + 0.5 * (right - left) * R[0] + 0.5 * (above - below) * R[1]
        return Camera((*(target + R[2] * distance).tolist(),), (*target.tolist(),), angle)


def checked_size(what: str, size: tuple[int, int]) -> None:
    """Refuse a size of a picture that is none, or that no memory holds."""
    for side in size:
        check_whole(what, side, 1, LARGEST_SIDE)


@entry(nogil=True)
def _fill(corners: Any, shades: Any, depth: Any, image: Any) -> None:
    """Draw triangles: corners (n, 9: three times x, y, depth), shades (n, as many as the image has), nearest wins."""
    height, width = depth.shape
    for t in range(corners.shape[0]):
        c = corners[t]
        ax, ay, bx, by, cx, cy = c[0], c[1], c[3], c[4], c[6], c[7]
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if area == 0.0 or area * 0.0 != 0.0:
            continue
        left = int(max(0.0, np.floor(min(ax, bx, cx))))
        right = int(min(width - 1.0, np.ceil(max(ax, bx, cx))))
        top = int(max(0.0, np.floor(min(ay, by, cy))))
        bottom = int(min(height - 1.0, np.ceil(max(ay, by, cy))))
        for y in range(top, bottom + 1):
            for x in range(left, right + 1):
                px, py = x + 0.5, y + 0.5
                u = ((bx - px) * (cy - py) - (by - py) * (cx - px)) / area
                v = ((cx - px) * (ay - py) - (cy - py) * (ax - px)) / area
                w = 1.0 - u - v
                if u >= 0.0 and v >= 0.0 and w >= 0.0:
                    z = 1.0 / (u / c[2] + v / c[5] + w / c[8])  # in perspective, what is linear is its inverse
                    if z < depth[y, x]:
                        depth[y, x] = z
                        for k in range(image.shape[2]):
                            image[y, x, k] = shades[t, k]


def draw(
    solids: Sequence[Solid],
    camera: Camera,
    width: int = 960,
    height: int = 720,
    ground: float | None = None,
    behind: Sequence[Solid] = (),
) -> Image:
    """Picture of solids, (height, width, 3). With `ground`, a height, they throw a shadow on it, and it hides what is
    below.

    Solids `behind` give way where the two touch, so that a ghost does not flicker through what it is the ghost of.
    """
    w, h = width * SAMPLES, height * SAMPLES
    down = np.linspace(0.0, 1.0, h)[:, None, None]
    image = np.zeros((h, w, 4))
    image[:, :, :3] = (1.0 - down) * SKY + down * GROUND
    if ground is not None:
        image[:, :, :3] *= 1.0 - 0.35 * _shadow([*behind, *solids], camera, w, h, ground)[:, :, None]
    depth = np.full((h, w), np.inf) if ground is None else _floor(camera, w, h, ground)
    for layer in (behind, solids):
        depth *= 1.004
        for solid in layer:
            corners = camera.project(solid.vertices, w, h)[solid.faces].reshape(-1, 9)
            _fill(np.ascontiguousarray(corners), _shades(solid, camera), depth, image)
    if solids:
        image[:, :, :3] *= 1.0 - (image[:, :, 3] * _shaded(solids, camera, depth, image[:, :, 3] > 0.0))[:, :, None]
    image = image[:, :, :3].reshape(height, SAMPLES, width, SAMPLES, 3).mean(axis=(1, 3))
    return (255.0 * np.clip(image, 0.0, 1.0)).astype(np.uint8)


def _shades(solid: Solid, camera: Camera) -> Array:
    """The colour of each face, lit from above, a little from the camera and all sides; and the share shadows take."""
    a, b, c = (solid.vertices[solid.faces[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-30)
    view = np.asarray(camera.eye) - (a + b + c) / 3.0
    view /= np.maximum(np.linalg.norm(view, axis=1, keepdims=True), 1e-30)
    normal *= np.where((normal * view).sum(axis=1, keepdims=True) < 0.0, -1.0, 1.0)  # both sides are seen
    direct = DIRECT * np.maximum(normal @ LIGHT_DIRECTION, 0.0)
    lit = 0.38 + 0.12 * normal[:, 2] + direct + 0.10 * (normal * view).sum(axis=1)
    half = view + LIGHT_DIRECTION
    half = half / np.maximum(np.linalg.norm(half, axis=1, keepdims=True), 1e-30)
    shine = 0.25 * np.maximum((normal * half).sum(axis=1), 0.0) ** 40
    return np.column_stack([solid.colours * lit[:, None] + shine[:, None], direct / lit])


def _shadow(solids: Sequence[Solid], camera: Camera, w: int, h: int, ground: float) -> Array:
    """How dark the ground is, 0 to 1, at each sample."""
    from scipy.ndimage import gaussian_filter  # late: half of the time that importing kinemorph would take

    depth = np.full((h, w), np.inf)
    mask = np.zeros((h, w, 3))
    for solid in solids:
        p = solid.vertices
        fallen = p - LIGHT_DIRECTION * (np.maximum(p[:, 2:] - ground, 0.0) / LIGHT_DIRECTION[2])
        above = solid.faces[p[solid.faces, 2].max(axis=1) > ground]
        corners = camera.project(fallen, w, h)[above].reshape(-1, 9)
        _fill(np.ascontiguousarray(corners), np.ones((len(above), 3)), depth, mask)
    return gaussian_filter(mask[:, :, 0], 0.006 * h)


def _rays(camera: Camera, w: int, h: int) -> tuple[Array, Array]:
    """From the eye through each sample, as far as depth 1, (h, w, 3); and the eye."""
    R, eye = camera.axes()
    focus = 0.5 * h / np.tan(np.radians(camera.angle) / 2.0)
    x = (np.arange(w) + 0.5 - 0.5 * w)[None, :, None] / focus
    y = (0.5 * h - np.arange(h) - 0.5)[:, None, None] / focus
    return x * R[0] + y * R[1] - R[2], eye


def _floor(camera: Camera, w: int, h: int, ground: float) -> Array:
    """How deep the ground is at each sample; a hair below where it is, so that what lies on it is seen."""
    rays, eye = _rays(camera, w, h)
    down = np.minimum(rays[:, :, 2], -1e-12)
    return np.where((rays[:, :, 2] < 0.0) & (eye[2] > ground), 1.0005 * (ground - eye[2]) / down, np.inf)


def _shaded(solids: Sequence[Solid], camera: Camera, depth: Array, lit: Any) -> Array:
    """How much of the light others keep from each sample that is lit, 0 to 1: where the light sees what is nearer."""
    points = np.concatenate([solid.vertices for solid in solids])
    sun = Camera.framing(points, LIGHT_DIRECTION, 1.0, LIGHT_VIEW_DEGREES)
    seen = np.full((SHADOW_SAMPLES, SHADOW_SAMPLES), np.inf)
    nothing = np.zeros((SHADOW_SAMPLES, SHADOW_SAMPLES, 0))
    for solid in solids:
        corners = sun.project(solid.vertices, SHADOW_SAMPLES, SHADOW_SAMPLES)[solid.faces].reshape(-1, 9)
        _fill(np.ascontiguousarray(corners), np.zeros((len(solid.faces), 0)), seen, nothing)
    h, w = depth.shape
    rows, columns = np.nonzero(lit)
    rays, eye = _rays(camera, w, h)
    x, y, away = sun.project(eye + depth[lit][:, None] * rays[lit], SHADOW_SAMPLES, SHADOW_SAMPLES).T
    grain = float(np.linalg.norm(np.ptp(points, axis=0))) / SHADOW_SAMPLES
    shaded = np.zeros((h, w))
    for i, j in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)):
        at = np.clip(y.astype(int) + i, 0, SHADOW_SAMPLES - 1), np.clip(x.astype(int) + j, 0, SHADOW_SAMPLES - 1)
        shaded[rows, columns] += 0.2 * (away > seen[at] + 5.0 * grain)
    return shaded
