"""Models of all request and answer bodies, for validation and documentation."""
