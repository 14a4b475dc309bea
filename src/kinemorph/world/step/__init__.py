"""One step of a world, stage by stage."""
