"""A forest: trees in memory blocks of their own, with ids that stay valid through edits."""
