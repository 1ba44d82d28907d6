"""Five weaknesses of plain self-attention that the documents name, and what removes each."""

from regard.studies.mechanics.weaknesses.study import run

__all__ = ["run"]
