"""The training process of a job. It is apart from ``jobs``, so that it starts without the database library.

``training`` trains, ``pipe`` connects it to the worker that started it, ``control`` is what both and the server ask of
the system.
"""
