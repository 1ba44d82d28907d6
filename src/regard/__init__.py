"""regard: a toolkit for attention models.

Importing `regard` loads no torch; the library itself is `regard.attention`.
"""

__version__ = "0.1.0"
