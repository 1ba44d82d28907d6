"""Translation of sentences against CTranslate2 and transformers, on the same weights."""
