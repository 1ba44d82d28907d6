"""What self-attention knows about order, and what positions add."""

from regard.studies.mechanics.order.study import run

__all__ = ["run"]
