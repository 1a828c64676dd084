"""A corpus: its files, its bounds, and its content block by block.

``files`` finds the files of a corpus and ``reading`` unpacks one. ``bounds`` restrict a corpus from a caller, ``roots``
its directories and ``addresses`` its hosts. ``names`` distinguishes paths from texts, ``web_files`` reads over http and
https, ``segments`` divides a large file, ``sample`` takes texts for measurements,
``languages`` checks whether documents are told apart by language.
"""
