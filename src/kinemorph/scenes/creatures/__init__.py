"""Creatures and results of evolution, shown."""
