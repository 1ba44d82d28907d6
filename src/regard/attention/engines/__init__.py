"""Three engines, judged by `attention/reference.py`: `dense`, `fused` (torch's), `blockwise`."""
