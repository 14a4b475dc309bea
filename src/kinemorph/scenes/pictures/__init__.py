"""Films, pictures and pages that scenes leave."""
