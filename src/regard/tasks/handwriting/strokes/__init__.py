"""Built-in handwriting: an alphabet of pen strokes, written in styles drawn from the seed.

glyphs ─▶ lines    strokes of a character, and of random lines in random styles
files              handwriting from files
"""
