"""Four floats in one register: the same kernels run on four states at once."""
