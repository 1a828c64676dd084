"""Measure tokd against the public peers: results proven equal first, then timed in turn.

A benchmark is the module of its name (``http`` is ``serving``). What they share: ``corpora`` (the texts), ``openers``
(tokd and its peers behind one shape), ``process`` (one measurement in one fresh process, by ``work`` of a module),
``peers`` (the environments of these), ``servers`` (what is asked), ``load`` (who asks), ``machine`` (on what), and
``report`` (where results are kept and shown).
"""
