"""Nadaraya–Watson kernel regression as attention, for millions of samples."""
