"""The HTML page: a file, a notebook frame, and the scripts shared with the served page."""
