"""Work out what a request asks for."""
