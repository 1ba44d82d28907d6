"""Benchmarks: one file per subject, whose `measurements` the command `regard bench` runs."""
