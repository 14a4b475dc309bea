"""Queries of a world: contacts, rays, overlaps, statistics."""
