"""Limits of concurrent work: bounds, threads, turns between renderings, and memory returned to the system."""
