"""Static ground: which of its triangles are near, and where they carry a body."""
