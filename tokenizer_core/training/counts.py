"""Counts of pieces, and their file.

A counts file is text: a line of JSON that says how the counts were made, then a line for each piece: its count, a tab,
and the piece as a JSON string. The first line may be missing, so that anything that can count can write such a file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from tokenizer_core._kernel import PieceCounts
from tokenizer_core.arguments import place_of
from tokenizer_core.atomic_files import replace
from tokenizer_core.errors import EmptyCorpus, InvalidCorpus
from tokenizer_core.short_repr import ShortRepr
from tokenizer_core.zstd import zstd

HEADER = "tokd counts 1"

MAX_SKIPPED_SHOWN = 10

_LINES = 1 << 14
"""Pieces written at a time."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """The pieces of a script that were too rare.

    Attributes:
        script: the name that Unicode has for it; ``Common`` are pieces of characters that many scripts share.
        rare: distinct pieces that were left out, how often they occur together, and the bytes of all these occurrences.
        all: the same of all pieces of the script.
    """

    script: str
    rare: tuple[int, int, int]
    all: tuple[int, int, int]


@dataclass(frozen=True, repr=False)
class Counts(ShortRepr):
    """The distinct pieces of a corpus and how often each occurs.

    Attributes:
        config: the pipeline that cut them, as canonical JSON.
        special_tokens: the literals that were left out.
        max_piece_length: in bytes; longer pieces were left out.
        documents, text_bytes: of the corpus.
        unpacked: bytes of its files, unpacked.
        skipped: lines and rows that could not be read and were left out.
        first_skipped: what was wrong with the first of them, each with its place.
        min_count: pieces that occur less often were left out.
        dropped: what that left out, by script.
        has_languages: before every piece is its language, and U+0000.
    """

    pieces: PieceCounts
    config: str
    special_tokens: tuple[str, ...]
    max_piece_length: int | None = None
    documents: int = 0
    text_bytes: int = 0
    unpacked: int = 0
    skipped: int = 0
    first_skipped: tuple[str, ...] = ()
    min_count: int = 1
    dropped: tuple[Dropped, ...] = ()
    has_languages: bool = False

    @cached_property
    def hash(self) -> str:
        """``sha256:`` over every piece and its count: equal for equal corpora, whatever their files and their order."""
        digest = hashlib.sha256()
        for part in self._lines():
            digest.update(part)
        return f"sha256:{digest.hexdigest()}"

    def save(self, path: str | Path, **more: Any) -> None:
        """Write a counts file, packed if its name ends in ``.zst``; it appears whole or not at all.

        Args:
            more: for its first line.
        """
        path = place_of(path)
        parts = chain((self._header(more),), self._lines())
        replace(path, _packed(parts) if path.suffix == ".zst" else parts)

    def summary(self) -> dict[str, Any]:
        """Say what was counted."""
        summary = {
            "hash": self.hash,
            "documents": self.documents,
            "bytes": self.text_bytes,
            "pieces": self.pieces.total,
            "distinct_pieces": len(self.pieces),
            "left_out": self.pieces.left_out,
        }
        if self.min_count == 1:
            return summary
        sums = (sum(each.rare[at] for each in self.dropped) for at in range(3))
        rare = dict(zip(("distinct_pieces", "pieces", "bytes"), sums, strict=True))
        return summary | {"min_count": self.min_count, "too_rare": rare}

    def told(self) -> dict[str, Any]:
        """Return how the counts were made and what of, as JSON has it."""
        return {
            **header_of(self.config, self.special_tokens, has_languages=self.has_languages),
            "documents": self.documents,
            "bytes": self.text_bytes,
            "unpacked": self.unpacked,
            "skipped": self.skipped,
            "first_skipped": list(self.first_skipped),
        }

    def _header(self, more: dict[str, Any]) -> bytes:
        header = more | self.told() | {"format": HEADER, "distinct_pieces": len(self.pieces)}
        return json.dumps(header, ensure_ascii=False, sort_keys=True).encode() + b"\n"

    def _lines(self) -> Iterator[bytes]:
        return (self.pieces.lines(start, start + _LINES) for start in range(0, len(self.pieces), _LINES))


def header_of(config: str, special_tokens: Sequence[str], *, has_languages: bool) -> dict[str, Any]:
    """Return what a counts file says of the rules by which it was made."""
    header = {"config": json.loads(config), "special_tokens": list(special_tokens)}
    return header | ({"languages": True} if has_languages else {})


def require_pieces(counts: Counts) -> None:
    """Refuse counts without a single piece.

    Raises:
        EmptyCorpus
    """
    if len(counts.pieces):
        return
    if counts.skipped:
        first = counts.first_skipped[0]
        raise EmptyCorpus(
            f"there is no text in the corpus but in {counts.skipped} skipped lines: {first}", field="corpus"
        )
    if counts.pieces.left_out:
        raise EmptyCorpus(
            f"every piece of the corpus is longer than {counts.max_piece_length} bytes and left out; allow longer ones",
            field="max_piece_length",
        )
    if counts.dropped:
        message = f"every piece of the corpus occurs less than {counts.min_count} times and is left out; lower that"
        raise EmptyCorpus(message, field="min_count")
    raise EmptyCorpus("there is no text in the corpus", field="corpus")


def check_header(name: str, line: bytes, expected: dict[str, Any]) -> dict[str, int]:
    """Return how many documents and bytes were counted, and how many pieces the file has if its header says so.

    Counts that were made by other rules than ``expected`` are refused.
    """
    try:
        header = json.loads(line)
    except RecursionError:
        raise InvalidCorpus(f"line 1 of {name} is nested too deeply", file=name, line=1) from None
    except ValueError as error:
        raise InvalidCorpus(f"line 1 of {name} is not JSON: {error}", file=name, line=1) from None
    if header.get("format") != HEADER:
        raise InvalidCorpus(f"line 1 of {name} does not name the format {HEADER!r}", file=name, line=1)
    for key in {**expected, "languages": None}:
        if header.get(key) != expected.get(key):
            other = json.dumps(header.get(key))[:200]
            message = f"{name} was counted with another {key}, {other}; count again, or ask for that"
            raise InvalidCorpus(message, file=name, field=key)
    sizes = {"documents": 0, "bytes": 0} | {
        key: header[key] for key in ("documents", "bytes", "distinct_pieces") if key in header
    }
    for key, value in sizes.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise InvalidCorpus(f"line 1 of {name} has {key} that is not a whole number", file=name, line=1)
    return sizes


def _packed(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Pack with zstd."""
    packer = zstd.ZstdCompressor()
    yield from map(packer.compress, parts)
    yield packer.flush()
