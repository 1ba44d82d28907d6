"""The classifier network of texts and series: inputs, encoder, pooling, and its explanations."""
