"""Three ways to the same answer: `dense` (the reference), `fused` (torch's kernel), `blockwise`."""
