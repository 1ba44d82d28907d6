"""Who may use the server: API keys, rate limits, origins."""
