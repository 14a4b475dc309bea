"""Kernels that edit the structure of a forest: each edit is one graft, and its result is verified before it is
committed."""
