"""Robots, figures and mechanisms."""
