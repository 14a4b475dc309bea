"""Structure: closed chains, and trees that are connected, cut and re-rooted while they move."""
