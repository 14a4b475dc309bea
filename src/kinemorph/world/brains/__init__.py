"""Brains in a world: their rows, their update in a step, grasps."""
