"""Word alignment of parallel text: by the text alone, or by the attention of models.

aligned_pair    words of a pair and the links between them
text_aligner    the statistical aligner over sentence pairs
model_aligner   forced decoding with a model, and with a reverse one
"""
