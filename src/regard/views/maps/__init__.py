"""Attention maps as arrays: where they come from, and summaries of them."""
