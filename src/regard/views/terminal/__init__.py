"""Alignments and decisions printed with rich."""
