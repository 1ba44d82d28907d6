"""Markdown (CommonMark with tables, footnotes and front matter): its prose as blocks of text."""

from regard.documents.markdown.structure import parse_markdown

__all__ = ["parse_markdown"]
