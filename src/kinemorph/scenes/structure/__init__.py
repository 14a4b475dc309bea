"""Scenes whose structure changes while they run."""
