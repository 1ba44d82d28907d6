"""The built-in handwriting: an alphabet of pen strokes, written by hands that vary with the seed.

    curve ─▶ glyphs       how a character is drawn
    hand                  slant, size, speed …: how somebody writes a line
    lines ─▶ sample       what is written, and the splits

>>> line = sample("test", 1)[0]
>>> line.strokes.dtype, int(line.strokes[-1, 2])
(dtype('float32'), 1)
"""

from regard.corpus.strokes.glyphs import ALPHABET, Glyph, glyph
from regard.corpus.strokes.hand import PLAIN, Hand, drawn_hand, write
from regard.corpus.strokes.sample import Written, sample, stream

__all__ = [
    "ALPHABET",
    "PLAIN",
    "Glyph",
    "Hand",
    "Written",
    "drawn_hand",
    "glyph",
    "sample",
    "stream",
    "write",
]
