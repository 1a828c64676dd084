"""How much a server does at once: bounds, threads, turns between renderings, and memory given back."""
