"""`regard serve` under load: errors, mixed-up responses, memory, throughput."""
