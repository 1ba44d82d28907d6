"""HTML: a tokenizer that keeps every character, and pages as blocks of text."""

from regard.documents.html.html_document import parse_html

__all__ = ["parse_html"]
