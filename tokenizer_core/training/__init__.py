"""Training: a corpus and settings in, a tokenizer out, in one call or in a run that resumes after a kill.

``counting`` turns a corpus into ``counts``, and ``learning`` turns counts into merges, by a plan (``plans``): a new
vocabulary or an extended one. ``train`` does both in one call with ``settings``; ``characters`` trains on characters
instead of bytes. ``run`` does both in a directory: ``recipe`` is its input, ``shards`` are its units of counting,
``merge_log`` is its checkpoint of merges, ``report`` its result in numbers, with ``parity_costs``.
``progress`` reports and stops either.
"""
