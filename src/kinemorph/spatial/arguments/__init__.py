"""Arguments as users give them: checks, and sentences that name the argument and its value."""
