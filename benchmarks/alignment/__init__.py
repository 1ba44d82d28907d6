"""Word alignment against eflomal, on the same text in one run."""
