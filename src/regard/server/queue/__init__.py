"""Requests of different users batched for the models."""
