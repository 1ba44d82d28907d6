"""Faults of processes, disk, files and numbers during training, in real processes."""
