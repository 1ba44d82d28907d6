"""Masks and biases: which keys a query may attend to, and what is added to the scores."""
