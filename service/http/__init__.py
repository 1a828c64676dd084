"""HTTP: bytes of a connection to requests, within bounds; bodies to checked models; answers to bytes."""
