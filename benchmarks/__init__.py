"""Measure tokd against the public peers: results proven equal first, then timed in turn.

The files in reading order: ``corpora`` (the texts), ``contenders`` (tokd and its peers behind one shape), ``worker``
(one contender in one fresh process), ``encode`` (all of them in turn), ``peers`` (their environment), ``report``
(medians, ratios, tables), ``machine`` (on what). ``serving`` does the same over HTTP with ``plain_service`` and
``load``. ``train`` measures ``trainers``, ``beside`` the service while a job trains, ``memory`` what the server holds
after many requests.
"""
