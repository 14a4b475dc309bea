"""Recordings and films: where bodies were over time, in memory and in files."""
