"""One file a claim: each runs its peer in the same process and prints speed with accuracy beside it."""
