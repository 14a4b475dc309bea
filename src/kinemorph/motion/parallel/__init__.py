"""Many states or many worlds at once."""
