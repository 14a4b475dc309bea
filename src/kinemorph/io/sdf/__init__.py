"""SDF in and out."""
