"""What self-attention can learn about order without positions, and with them."""

from regard.studies.mechanics.order.study import run

__all__ = ["run"]
