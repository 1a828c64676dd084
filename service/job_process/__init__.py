"""Processes of their own: the training of a job, and the audit of an upload.

They are apart from ``jobs``, so that they start without the database library. ``training`` trains, ``auditing`` audits
what a caller sends, ``pipe`` connects a training process to the worker that started it, ``control`` is what both and
the server ask of the system.
"""
