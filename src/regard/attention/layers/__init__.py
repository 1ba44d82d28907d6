"""Layers: multi-head attention, its projections, positions and caches, and attention pooling."""
