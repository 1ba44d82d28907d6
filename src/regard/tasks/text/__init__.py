"""What the kinds of model that learn from text have in common."""
