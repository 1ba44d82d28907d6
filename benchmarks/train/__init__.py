"""Training throughput against a `torch.nn.Transformer` loop and JoeyNMT."""
