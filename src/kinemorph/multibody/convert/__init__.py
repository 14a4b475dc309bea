"""Coordinates of a model in the order and the frames of other engines."""
