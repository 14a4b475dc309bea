"""The live forest: trees in blocks of their own, under ids that stay."""
