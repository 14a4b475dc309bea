"""The kernel cache: keys, files, packs, and the processes that fill it."""
