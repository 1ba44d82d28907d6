"""Bilingual files, whose translations stand beside the source: PO, XLIFF and TMX."""
