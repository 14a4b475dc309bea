"""Searches: each asks for evaluations and is told their results."""
