"""The table of shapes, and where each shape is."""
