"""Scores of translations and of attention heads on the built-in corpus."""
