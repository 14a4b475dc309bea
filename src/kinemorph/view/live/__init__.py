"""The live viewer."""
