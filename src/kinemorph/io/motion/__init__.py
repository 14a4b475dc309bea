"""Recorded motion and tables over time: BVH, C3D, CSV, HDF5."""
