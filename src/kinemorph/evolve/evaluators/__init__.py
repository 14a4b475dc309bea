"""Evaluators: serial, in processes, on a Ray cluster."""
