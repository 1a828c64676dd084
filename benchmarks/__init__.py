"""Measure tokd against the public peers: results proven equal first, then timed in turn.

The files in reading order: ``corpora`` (the texts), ``patterns``, ``openers`` and ``contenders`` (tokd and its peers
behind one shape), ``worker`` and ``opening`` (one contender in one fresh process), ``peers`` (their environment),
``machine`` (on what), ``encode`` (all of them in turn), ``report`` (where results are kept and shown),
``encode_tables`` (ratios, tables, chart).

``families`` does the same for other models than byte-level BPE, with ``family_openers`` and ``family_worker``.

``serving`` does the same over HTTP with ``servers``, ``plain_service``, ``bare_service`` and ``load``. ``train``
measures ``trainers``, ``beside`` the service while a job trains, ``memory`` what the server holds after many requests.

``counting`` trains from ``made_counts``, each run in a ``counting_worker``.
"""
