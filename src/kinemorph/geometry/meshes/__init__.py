"""Triangle meshes: file formats, faults, and triangles around simple shapes."""
