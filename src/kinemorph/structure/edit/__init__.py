"""Changes of structure: rows that kernels fill, one operation behind all of them, and the proof that nothing moved."""
