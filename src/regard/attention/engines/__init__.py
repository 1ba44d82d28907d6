"""Three engines with the same result: `dense` (the reference), `fused` (torch's), `blockwise`."""
