"""Models from files, and files from models."""
