"""Training: loss, optimiser, schedule, the loop, checkpoints."""
