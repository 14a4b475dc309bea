"""Queries: rays, closest points, distances and contacts of shapes that Python asks for."""
