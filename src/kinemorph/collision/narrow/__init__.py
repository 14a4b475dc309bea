"""The narrow phase: distance, depth and contact points of one pair of shapes."""
