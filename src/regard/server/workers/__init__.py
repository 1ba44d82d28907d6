"""The worker processes of one server: their supervisor, their link with it, and what they share."""
