"""Heads that are trained to attend along links: the links of a corpus, and their loss."""
