"""From a genotype to parts, a model and a brain."""
