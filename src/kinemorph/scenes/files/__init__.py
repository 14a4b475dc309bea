"""Scene files: worlds that TOML files describe."""
