"""Access to the server: API keys, rate limits, origins, and the admission of a request."""
