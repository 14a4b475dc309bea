"""Kernels that edit the structure of a forest: plan, impact, graft, and verification before the commit."""
