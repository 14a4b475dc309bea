"""Snapshots, digests, journals and branches of a world."""
