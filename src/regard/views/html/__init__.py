"""Attention in a browser: the report, the notebook view and the shared scripts."""
