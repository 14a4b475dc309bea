"""Trees of links: models, their data, and the algorithms of their dynamics."""
