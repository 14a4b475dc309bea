"""The gallery: one file a scene, used by demos, tests and benchmarks alike."""
