"""Do the calls of a run: here, or over the hosts of a cluster. ``engine.py`` is the port."""
