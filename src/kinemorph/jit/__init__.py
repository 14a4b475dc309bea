"""Kernels: Python functions that become machine code at first use, and are kept on disk."""
