"""API keys and their scopes, the scope of each route, and the names of the server."""
