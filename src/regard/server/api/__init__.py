"""The operations of the HTTP API: LibreTranslate's, and regard's own under /v1."""
