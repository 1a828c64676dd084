"""The process that trains one job, and what ties it to the worker that started it.

It stands apart from ``jobs``, so that it starts without the database's library.
"""
