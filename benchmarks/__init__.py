"""Benchmarks of regard against its peers: `python -m benchmarks --help`."""
