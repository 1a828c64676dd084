"""Metrics of a server, and its access log."""
