"""What a translation must say: placeholders, terms of a glossary, sentences of a memory."""
