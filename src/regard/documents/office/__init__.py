"""Documents of word processors, which are zip archives of XML: DOCX and ODT."""
