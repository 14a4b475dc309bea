"""The direct solve of an island by Newton's method, and the choice of the islands that need it."""
