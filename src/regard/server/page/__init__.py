"""The page at /: HTML, CSS and scripts."""
