"""What the operator sees of a server: what it counts, and one line a request."""
