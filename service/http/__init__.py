"""How bytes of a connection become requests: uvicorn's HTTP/1.1 with bounds, and hot requests answered as they come."""
