"""One folder per kind of model: its data, batch, objective, validation and façade."""
