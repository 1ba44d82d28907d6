"""Residual blocks of a Transformer layer as single functions with their own backward pass."""
