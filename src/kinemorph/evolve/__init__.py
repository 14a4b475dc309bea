"""Evolution: searches that ask for evaluations, evaluators that survive, a store that outlives both, reports."""
