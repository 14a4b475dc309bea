"""Episodes of creatures: what is recorded of them in each step of a world, and their scripts."""
