"""One step of a world, stage by stage; `step.pipeline` is the table of contents."""
