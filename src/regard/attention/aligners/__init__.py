"""Stateful aligners of recurrent decoders: location, coverage, Graves' window, monotonic."""
