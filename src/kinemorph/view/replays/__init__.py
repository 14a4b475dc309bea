"""Replays: recordings as one HTML file."""
