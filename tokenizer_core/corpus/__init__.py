"""A corpus: its files, its bounds, and its content block by block.

``roots`` are directories that files may lie in, ``bounds`` what a corpus may be when somebody else names it,
``names`` tells paths from texts, ``web_files`` lie behind http and https, ``reading`` unpacks one file, ``files`` finds
them all, ``segments`` cuts a large one, ``sample`` takes the first texts of each.
"""
