"""Attention maps as arrays: where they come from, the words of their tokens, and summaries."""
