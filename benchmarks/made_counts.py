"""Files of counts with as many distinct pieces as asked for: made, since no corpus here has so many.

A piece is a number in syllables, and the numbers come in an order that looks random. Of three pieces one occurs more
than once, and one in eight is in two files.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tokenizer_core import atomic_files

SYLLABLES = 40
STEP = 2_654_435_761
"""Prime, so that it shares no factor with a number of pieces."""

BLOCK = 1 << 20

_LETTERS = np.frombuffer(b"etaoinshrdlucmfwypvbgkjqxz", np.uint8)


def write_counts(directory: Path, pieces: int, files: int) -> list[Path]:
    """Write counts files, together with so many distinct pieces; the same bytes every time."""
    table = _syllables()
    paths = [directory / f"{number:03}.counts" for number in range(files)]
    for number, path in enumerate(paths):
        atomic_files.replace(path, _lines(number, pieces, files, table))
    return paths


def _lines(file: int, pieces: int, files: int, table: npt.NDArray[np.uint8]) -> Iterator[bytes]:
    for start in range(0, pieces, BLOCK):
        numbers = np.arange(start, min(start + BLOCK, pieces), dtype=np.uint64)
        mixed = numbers * np.uint64(STEP) % np.uint64(pieces)
        home = mixed % np.uint64(files)
        second = (home + np.uint64(1)) % np.uint64(files)
        here = (home == file) | ((second == file) & (numbers % np.uint64(8) == 0))
        for words in _words(numbers[here], mixed[here], table):
            yield words.tobytes()


def _words(
    numbers: npt.NDArray[np.uint64], mixed: npt.NDArray[np.uint64], table: npt.NDArray[np.uint8]
) -> Iterator[npt.NDArray[np.uint8]]:
    """Write a line for each piece, those of one number of syllables together."""
    often = np.where(numbers % np.uint64(3) == 0, 2 + numbers % np.uint64(7), 1).astype(np.uint8)
    low = np.uint64(0)
    for length in range(1, 7):
        high = low + np.uint64(SYLLABLES**length)
        chosen = (mixed >= low) & (mixed < high)
        rest = mixed[chosen] - low
        lines = np.empty((len(rest), 5 + 2 * length), np.uint8)
        lines[:, 0] = ord("0") + often[chosen]
        lines[:, 1:3] = np.frombuffer(b'\t"', np.uint8)
        lines[:, -2:] = np.frombuffer(b'"\n', np.uint8)
        for place in range(length):
            lines[:, 3 + 2 * place : 5 + 2 * place] = table[(rest % np.uint64(SYLLABLES)).astype(np.intp)]
            rest //= np.uint64(SYLLABLES)
        low = high
        yield lines


def _syllables() -> npt.NDArray[np.uint8]:
    consonants, vowels = _LETTERS[[1, 5, 6, 8, 9, 10, 12, 13]], _LETTERS[[0, 2, 3, 4, 11]]
    return np.stack([np.repeat(consonants, len(vowels)), np.tile(vowels, len(consonants))], axis=1)
