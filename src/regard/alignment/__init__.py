"""Word alignment from attention maps: which source words each target word attends to.

    tokenized_words   which tokens make up which words; weights of tokens pooled to words
    links             the rules that turn word weights into links
    symmetrization    links of two directions made into one set
    heads, selection  which layer, head and row is used, selected without gold links
    statistical       an aligner that needs no attention; also the reference of the selection

>>> import numpy as np
>>> sorted(extract_links(np.array([[0.8, 0.2], [0.1, 0.9]])))
[(0, 0), (1, 1)]
"""

from regard.alignment.heads import AlignmentHead, alignment_weights, layer_maps
from regard.alignment.links import Link, Links, extract_links, rule_links, word_links
from regard.alignment.selection import AlignmentSelection, MappedBatch, select_alignment_head
from regard.alignment.statistical import BidirectionalLinks, align_bidirectional, align_words
from regard.alignment.symmetrization import SYMMETRIZATIONS, symmetrize
from regard.alignment.tokenized_words import (
    TokenizedWords,
    locate_words,
    pool,
    tokenized_output,
    tokenized_words,
)

__all__ = [
    "SYMMETRIZATIONS",
    "AlignmentHead",
    "AlignmentSelection",
    "BidirectionalLinks",
    "Link",
    "Links",
    "MappedBatch",
    "TokenizedWords",
    "align_bidirectional",
    "align_words",
    "alignment_weights",
    "extract_links",
    "layer_maps",
    "locate_words",
    "pool",
    "rule_links",
    "select_alignment_head",
    "symmetrize",
    "tokenized_output",
    "tokenized_words",
    "word_links",
]
