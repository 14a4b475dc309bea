"""Fontijne's bounce (2.6) and the animations of his collision detection."""
