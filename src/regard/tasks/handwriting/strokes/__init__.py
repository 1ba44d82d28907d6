"""Built-in handwriting: an alphabet of pen strokes, written in styles drawn from the seed.

curve ─▶ glyphs ─▶ style    strokes of a character, and of a line in a style
lines ─▶ sample             texts, and the splits
files                       handwriting from files
"""
