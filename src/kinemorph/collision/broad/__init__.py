"""The broad phase: a hierarchical hash of boxes, and the pairs that overlap."""
