"""The way of a kernel through Numba and LLVM: every name that these two do not promise to keep is used here."""
