"""Alignments and decisions drawn with characters in a terminal."""
