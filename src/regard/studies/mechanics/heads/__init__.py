"""One head, many heads at equal parameters, and heads switched off."""

from regard.studies.mechanics.heads.study import run

__all__ = ["run"]
