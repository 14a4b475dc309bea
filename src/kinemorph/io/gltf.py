"""GLB, the binary form of glTF 2.0: bodies with their meshes, and how they moved. Opens in Blender and in browsers.

glTF's y points up, so all bodies hang on one node that lays z up over. Numbers are of 32 bits, as the format has them.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph._files import PathLike, write_whole
from kinemorph.geometry.meshes.mesh import Mesh
from kinemorph.spatial.pose import Array
from kinemorph.spatial.quaternion_arrays import continuous

FLOAT, UNSIGNED = 5126, 5125  # component types of accessors
VERTICES, INDICES = 34962, 34963  # targets of buffer views
LIE = (-(0.5**0.5), 0.0, 0.0, 0.5**0.5)  # x y z w: z up becomes y up


@dataclass(frozen=True, eq=False)
class GlbPart:
    """A mesh in the frame of its body, in one colour (red, green, blue, alpha)."""

    mesh: Mesh
    colour: tuple[float, float, float, float]


@dataclass(frozen=True, eq=False)
class GlbBody:
    """A body: its parts, and its poses (frames, 7), position and quaternion w x y z; NaN where it is absent."""

    name: str
    parts: Sequence[GlbPart]
    poses: Array


def save_glb(path: PathLike, name: str, t: Array, bodies: Sequence[GlbBody]) -> None:
    """Write bodies and their motion as one GLB file. Of frames with the same time the last one counts."""
    write_whole(path, format_glb(name, t, bodies))


def format_glb(name: str, t: Array, bodies: Sequence[GlbBody]) -> bytes:
    """The bytes of a GLB file."""
    file = _File()
    kept = np.append(np.flatnonzero(np.diff(t) > 0.0), len(t) - 1) if len(t) else np.zeros(0, dtype=np.intp)
    clock = file.accessor((t[kept] - t[0]).astype(np.float32)[:, None], "SCALAR", None) if len(kept) > 1 else -1
    for body in bodies:
        file.body(body, kept, clock)
    return file.bytes(name)


class _File:
    """The parts of a file while it is made."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.views: list[dict[str, Any]] = []
        self.accessors: list[dict[str, Any]] = []
        self.meshes: list[dict[str, Any]] = []
        self.materials: dict[tuple[float, ...], int] = {}
        self.nodes: list[dict[str, Any]] = [{"name": "z up", "rotation": LIE, "children": []}]
        self.samplers: list[dict[str, Any]] = []
        self.channels: list[dict[str, Any]] = []
        self.known: dict[int, tuple[int, int, Mesh]] = {}  # accessors of meshes that are there already

    def accessor(self, values: npt.NDArray[Any], kind: str, target: int | None) -> int:
        """Numbers (count, width) in the buffer; returns the index of their accessor."""
        self.data += bytes(-len(self.data) % 4)
        view: dict[str, Any] = {"buffer": 0, "byteOffset": len(self.data), "byteLength": values.nbytes}
        if target is not None:
            view["target"] = target
        self.data += np.ascontiguousarray(values).tobytes()
        self.views.append(view)
        self.accessors.append(
            {
                "bufferView": len(self.views) - 1,
                "componentType": FLOAT if values.dtype == np.float32 else UNSIGNED,
                "count": len(values) if kind != "SCALAR" else values.size,
                "type": kind,
                "min": [float(x) if values.dtype == np.float32 else int(x) for x in values.min(axis=0)],
                "max": [float(x) if values.dtype == np.float32 else int(x) for x in values.max(axis=0)],
            }
        )
        return len(self.accessors) - 1

    def body(self, body: GlbBody, kept: npt.NDArray[np.intp], clock: int) -> None:
        """A node with its mesh and its motion."""
        poses = body.poses[kept]
        there: npt.NDArray[np.bool_] = np.asarray(np.isfinite(poses).all(axis=1))
        poses = _filled(poses, there)
        x = poses[0] if len(poses) else np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
        node: dict[str, Any] = {"name": body.name, "translation": x[:3].tolist(), "rotation": x[[4, 5, 6, 3]].tolist()}
        primitives = [self._primitive(part) for part in body.parts if len(part.mesh.faces)]
        if primitives:
            self.meshes.append({"name": body.name, "primitives": primitives})
            node["mesh"] = len(self.meshes) - 1
        self.nodes.append(node)
        self.nodes[0]["children"].append(len(self.nodes) - 1)
        if clock < 0:
            return
        turns = continuous(poses[:, 3:])
        self._channel(clock, poses[:, :3], "VEC3", "translation", "LINEAR")
        self._channel(clock, turns[:, [1, 2, 3, 0]], "VEC4", "rotation", "LINEAR")
        if not there.all():  # an absent body is scaled to zero
            self._channel(clock, np.repeat(there[:, None].astype(float), 3, axis=1), "VEC3", "scale", "STEP")
            if not there[0]:
                node["scale"] = [0.0, 0.0, 0.0]

    def _channel(self, clock: int, values: Array, kind: str, path: str, how: str) -> None:
        output = self.accessor(values.astype(np.float32), kind, None)
        self.samplers.append({"input": clock, "output": output, "interpolation": how})
        target = {"node": len(self.nodes) - 1, "path": path}
        self.channels.append({"sampler": len(self.samplers) - 1, "target": target})

    def _primitive(self, part: GlbPart) -> dict[str, Any]:
        key = id(part.mesh)
        if key not in self.known:
            vertices = self.accessor(part.mesh.vertices.astype(np.float32), "VEC3", VERTICES)
            faces = self.accessor(part.mesh.faces.astype(np.uint32).reshape(-1, 1), "SCALAR", INDICES)
            self.known[key] = vertices, faces, part.mesh  # the mesh too, so that no other one gets its id
        vertices, faces, _ = self.known[key]
        material = self.materials.setdefault(tuple(part.colour), len(self.materials))
        return {"attributes": {"POSITION": vertices}, "indices": faces, "material": material}

    def bytes(self, name: str) -> bytes:
        text: dict[str, Any] = {
            "asset": {"version": "2.0", "generator": "kinemorph"},
            "scene": 0,
            "scenes": [{"name": name or "scene", "nodes": [0]}],
            "nodes": self.nodes,
        }
        lists: dict[str, list[dict[str, Any]]] = {
            "meshes": self.meshes, "materials": [_material(c) for c in self.materials], "accessors": self.accessors,
            "bufferViews": self.views, "buffers": [{"byteLength": len(self.data)}] if self.data else [],
        }  # fmt: skip
        text.update({key: value for key, value in lists.items() if value})
        if not self.nodes[0]["children"]:
            del self.nodes[0]["children"]
        if self.channels:
            text["animations"] = [{"name": name or "motion", "samplers": self.samplers, "channels": self.channels}]
        head = json.dumps(text, separators=(",", ":"), allow_nan=False).encode()
        head += b" " * (-len(head) % 4)
        body = bytes(self.data) + bytes(-len(self.data) % 4)
        chunks = struct.pack("<II", len(head), 0x4E4F534A) + head
        if body:
            chunks += struct.pack("<II", len(body), 0x004E4942) + body
        return struct.pack("<III", 0x46546C67, 2, 12 + len(chunks)) + chunks


def _material(colour: tuple[float, ...]) -> dict[str, Any]:
    """Colours of glTF are linear."""
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in colour[:3]]
    surface = {"baseColorFactor": [*linear, colour[3]], "metallicFactor": 0.0, "roughnessFactor": 0.7}
    found: dict[str, Any] = {"pbrMetallicRoughness": surface, "doubleSided": True}
    if colour[3] < 1.0:
        found["alphaMode"] = "BLEND"
    return found


def _filled(poses: Array, there: npt.NDArray[np.bool_]) -> Array:
    """Poses without gaps: where a body is absent it stays where it was, or where it will be first."""
    if there.all() or not there.any():
        return np.where(np.isfinite(poses), poses, [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    last = np.maximum.accumulate(np.where(there, np.arange(len(there)), -1))
    return np.asarray(poses[np.where(last < 0, np.flatnonzero(there)[0], last)])
