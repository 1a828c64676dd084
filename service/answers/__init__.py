"""Work out what a request asks for. ``shortcut`` has the kernel do it, without a Python object for what is in it."""
