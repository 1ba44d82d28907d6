"""Optimizers of a network's parameters, and the learning rate's schedule."""
