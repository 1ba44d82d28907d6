"""Networks prepared for inference: the same logits as the networks that are trained, faster.

Weights are copied once into the layout that few rows multiply fastest; caches are written in place;
hypotheses of one sentence share what was computed of its source. There is no dropout, no gradient
and nothing to observe: maps and interventions are the trained network's.
"""

from regard.models.inference.prepare import prepared

__all__ = ["prepared"]
