"""Spatial algebra on tuples: vectors, matrices, rotations, wrenches and inertias that stay in registers."""
