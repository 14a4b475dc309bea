"""Worker threads that share the stages of a step."""
