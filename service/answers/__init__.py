"""Work out what a request asks for and write the answer: ``writing`` turns answers into bytes, every other module makes
those of one kind. ``shortcut`` gives those of the hot routes without a Python object for what is in them."""
