"""What the commands run, view, warm and doctor do."""
