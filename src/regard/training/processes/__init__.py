"""Training over several processes (torchrun): their communication, restarts and shards."""
