"""Encode a corpus into the files that trainers read.

``recipe`` has the settings of a run, ``plan`` divides a corpus into tasks, ``part`` encodes the documents of one part,
which ``shuffle`` may permute, and ``layouts`` write its files, one layout a module. ``store`` keeps finished parts
until all are there, ``claims`` divide them among runs, and ``run`` does all of this. ``manifest`` says what was written
and ``checking`` verifies it.
"""
