"""The routes: each parses, calls what lies below, and returns."""
