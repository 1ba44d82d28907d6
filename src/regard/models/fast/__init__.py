"""Networks made faster: the same numbers as the reference, which stays as it is.

`for_training(network)` returns the network with other modules on the same weights: sub-layers with
their own backward pass, lookups whose gradients are collected, dropout in fewer passes.
`for_inference(network)` returns what a search runs: weights copied once into the layout that few
rows multiply fastest, and caches written in place. `supports` says what either can do.
"""

from regard.models.fast.inference import for_inference
from regard.models.fast.supports import supports
from regard.models.fast.training import for_training

__all__ = ["for_inference", "for_training", "supports"]
