"""What a request asks for, worked out and written: ``writing`` knows how an answer becomes bytes, every other module
makes answers of one kind. ``shortcut`` gives those of the hot routes without a Python object for what is in them."""
