"""The store of a run: one SQLite file."""
