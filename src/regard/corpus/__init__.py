"""Corpora: pairs from files, cleaned, split and batched, and those that regard writes itself."""
