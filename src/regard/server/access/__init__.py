"""Access to the server: API keys, rate limits, and the admission of a request."""
