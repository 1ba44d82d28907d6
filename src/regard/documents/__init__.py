"""Document translation with the markup kept by word alignment; one module per format.

A document is read into parts (`blocks.py`): verbatim text, and blocks of text with their inline
elements. The blocks' texts are translated, `projection.py` finds where each element belongs by the
word links, and `render.py` writes all parts. `registry.py` maps names to formats.
"""
