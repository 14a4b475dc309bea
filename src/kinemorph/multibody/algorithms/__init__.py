"""The algorithms of trees, one file each."""
