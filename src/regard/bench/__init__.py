"""`regard bench`: error, time and memory of the attention mechanisms."""
