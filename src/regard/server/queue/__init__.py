"""The queue before the models: jobs of different requests in shared batches, routes, pivoting."""
