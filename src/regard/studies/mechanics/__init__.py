"""Studies of the mechanisms alone: kernels, scores, masks, heads, positions, cost."""
