"""Seeing results: pictures, plots, replays."""
