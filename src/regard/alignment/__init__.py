"""From attention maps to word links: which source words each target word looked at.

    pieces ─▶ links          weights of tokens pooled to words, and the rule that makes links
    reading ◀─ choice        which layer, head and row to read, chosen without gold links
    statistical, symmetrise  an aligner that needs no attention, for choosing and for comparing
    pharaoh                  links as text

>>> import numpy as np
>>> sorted(decide(np.array([[0.8, 0.2], [0.1, 0.9]])))
[(0, 0), (1, 1)]
"""

from regard.alignment.choice import Choice, MappedBatch, choose
from regard.alignment.links import Link, Links, decide, word_links
from regard.alignment.pharaoh import GoldLinks, read_pharaoh, write_pharaoh
from regard.alignment.pieces import Pieces, located, pieces, pool, written_pieces
from regard.alignment.reading import Reading, layer_maps, read
from regard.alignment.statistical import BothWays, align_both_ways, align_words
from regard.alignment.symmetrise import grow_diag, grow_diag_final_and, intersection, union

__all__ = [
    "BothWays", "Choice", "GoldLinks", "Link", "Links", "MappedBatch", "Pieces", "Reading",
    "align_both_ways", "align_words", "choose", "decide", "grow_diag", "grow_diag_final_and",
    "intersection", "layer_maps", "located", "pieces", "pool", "read", "read_pharaoh", "union",
    "word_links", "write_pharaoh", "written_pieces",
]  # fmt: skip
