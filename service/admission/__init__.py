"""Limits of concurrent work: bounds, threads, and memory returned to the system."""
