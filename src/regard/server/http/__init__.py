"""The HTTP application: routes, limits, errors, log and metrics."""
