"""Built-in handwriting: an alphabet of pen strokes, written in styles drawn from the seed.

    curve ─▶ glyphs       strokes of a character
    style                 slant, size, speed …, and writing a line in a style
    lines ─▶ sample       texts, and the splits

>>> line = sample("test", 1)[0]
>>> line.strokes.dtype, int(line.strokes[-1, 2])
(dtype('float32'), 1)
"""

from regard.tasks.handwriting.strokes.glyphs import ALPHABET, Glyph, glyph
from regard.tasks.handwriting.strokes.sample import StrokeLine, sample, stream
from regard.tasks.handwriting.strokes.style import PLAIN, WritingStyle, random_style, write

__all__ = [
    "ALPHABET",
    "PLAIN",
    "Glyph",
    "StrokeLine",
    "WritingStyle",
    "glyph",
    "random_style",
    "sample",
    "stream",
    "write",
]
