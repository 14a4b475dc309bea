"""One tetrahedron in every format that meshes come in."""

from __future__ import annotations

import struct

import numpy as np

TETRAHEDRON = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


def binary_stl(corners: np.ndarray, count: int | None = None, header: bytes = b"made for a test") -> bytes:
    triangles = [struct.pack("<12fH", 0, 0, 0, *triangle.ravel(), 0) for triangle in corners]
    return header.ljust(80) + struct.pack("<I", len(corners) if count is None else count) + b"".join(triangles)


def ascii_stl(corners: np.ndarray) -> str:
    facets = "".join(
        "facet normal 0 0 0\n outer loop\n"
        + "".join(f"  vertex {x} {y} {z}\n" for x, y, z in triangle)
        + " endloop\nendfacet\n"
        for triangle in corners
    )
    return f"solid test\n{facets}endsolid test\n"


OBJ = "o test\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1/1 2/2 4/3\nf 1//1 4//1 3//1\nf -3 -2 -1\n"

DAE = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
  <asset><unit meter="1"/><up_axis>Y_UP</up_axis></asset>
  <library_effects><effect id="red-effect"><profile_COMMON><technique sid="common">
    <phong><diffuse><color>1 0 0 1</color></diffuse></phong>
  </technique></profile_COMMON></effect></library_effects>
  <library_materials><material id="red"><instance_effect url="#red-effect"/></material></library_materials>
  <library_geometries><geometry id="shape"><mesh>
    <source id="points">
      <float_array id="numbers" count="12">0 0 0 1 0 0 0 1 0 0 0 1</float_array>
      <technique_common><accessor source="#numbers" count="4" stride="3"/></technique_common>
    </source>
    <vertices id="vertices"><input semantic="POSITION" source="#points"/></vertices>
    <triangles count="4" material="paint">
      <input semantic="VERTEX" source="#vertices" offset="0"/><input semantic="NORMAL" source="#none" offset="1"/>
      <p>0 0 2 0 1 0 0 0 1 0 3 0 0 0 3 0 2 0 1 0 2 0 3 0</p>
    </triangles>
  </mesh></geometry></library_geometries>
  <library_visual_scenes><visual_scene id="scene"><node>
    <instance_geometry url="#shape"><bind_material><technique_common>
      <instance_material symbol="paint" target="#red"/>
    </technique_common></bind_material></instance_geometry>
  </node></visual_scene></library_visual_scenes>
  <scene><instance_visual_scene url="#scene"/></scene>
</COLLADA>
"""
