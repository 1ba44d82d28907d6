"""Scoring functions: how well a key matches a query."""
