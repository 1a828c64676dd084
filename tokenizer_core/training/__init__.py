"""Training: a corpus and settings in, a tokenizer out, in one call or in a run that resumes after a kill.

``settings`` are what to train, ``progress`` tells how far it has come. ``counting`` makes ``counts`` of a corpus,
``learning`` merges of counts, and ``plans`` say what both are for: a new vocabulary or a longer one. ``train`` does it
in one call, and ``characters`` for characters in the place of bytes. ``run`` does it in a directory: ``recipe`` is what
it is asked for, ``shards`` are what it counts at once, ``merge_log`` keeps its merges, ``report`` says what came of it.
"""
