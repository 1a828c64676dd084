"""The audit: the eleven points that go wrong with tokenizers, in order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tokenizer_core.arguments import check_kind, optional_integer, path_of
from tokenizer_core.checking.atomic_specials import atomic_specials
from tokenizer_core.checking.determinism import determinism
from tokenizer_core.checking.embedding import embedding
from tokenizer_core.checking.fertility import fertility
from tokenizer_core.checking.file_hashes import file_hashes
from tokenizer_core.checking.offsets import offsets
from tokenizer_core.checking.padding import padding
from tokenizer_core.checking.report import CheckReport, Finding, Point, failed, not_applicable
from tokenizer_core.checking.reserved_literals import reserved_literals
from tokenizer_core.checking.round_trip import round_trip
from tokenizer_core.checking.template import template
from tokenizer_core.checking.throughput import throughput
from tokenizer_core.errors import HashMismatch, TokdError
from tokenizer_core.tokenizer import Tokenizer

NAMES = (
    "round trip",
    "atomic specials",
    "fertility",
    "template",
    "reserved literals",
    "padding and masks",
    "file hashes",
    "embedding rows",
    "offsets",
    "throughput",
    "determinism",
)
"""The names of the points; the first is number 1."""


def check(tokenizer: Tokenizer, *, path: str | Path | None = None, embedding_rows: int | None = None) -> CheckReport:
    """Audit a tokenizer.

    Args:
        path: the artifact directory that it came from, whose files are held against the manifest.
        embedding_rows: the rows of the model's embedding table.

    Raises:
        InvalidOption: ``embedding_rows`` is no whole number from 1 on, or ``path`` is no path. What goes wrong in a
            point is that point's failure.
    """
    check_kind(tokenizer, Tokenizer, "tokenizer")
    rows = optional_integer(embedding_rows, "embedding_rows", 1)
    directory = None if path is None else path_of(path)
    findings = (
        _guard(lambda: round_trip(tokenizer)),
        _guard(lambda: atomic_specials(tokenizer)),
        _guard(lambda: fertility(tokenizer)),
        _guard(lambda: template(tokenizer)),
        _guard(lambda: reserved_literals(tokenizer)),
        _guard(lambda: padding(tokenizer)),
        _guard(lambda: file_hashes(tokenizer, directory)),
        _guard(lambda: embedding(tokenizer, rows)),
        _guard(lambda: offsets(tokenizer)),
        _guard(lambda: throughput(tokenizer)),
        _guard(lambda: determinism(tokenizer)),
    )
    return _report(tokenizer.hash, tokenizer.name, findings)


def check_artifact(path: str | Path, *, embedding_rows: int | None = None) -> CheckReport:
    """Open an artifact and audit it; a file that is not the one its manifest pins is a failure of point 7.

    Raises:
        ArtifactNotFound, InvalidArtifact, Unsupported, and InvalidOption as of ``check``
    """
    rows = optional_integer(embedding_rows, "embedding_rows", 1)
    try:
        tokenizer = Tokenizer.open(path)
    except HashMismatch as error:
        unread = not_applicable("the artifact was not loaded, since its files are not those of its manifest")
        broken = failed(error.message, code=error.code, **error.place)
        findings = tuple(broken if name == "file hashes" else unread for name in NAMES)
        return _report(None, Path(path).resolve().name, findings)
    return check(tokenizer, path=path, embedding_rows=rows)


def _guard(point: Callable[[], Finding]) -> Finding:
    """Turn an error that a point met into its failure, so that the other points are still seen."""
    try:
        return point()
    except TokdError as error:
        return failed(f"{error.code}: {error.message}", code=error.code, **error.place)


def _report(hash_: str | None, name: str, findings: tuple[Finding, ...]) -> CheckReport:
    points = tuple(
        Point(number, point, finding.status, finding.summary, finding.evidence)
        for number, (point, finding) in enumerate(zip(NAMES, findings, strict=True), start=1)
    )
    return CheckReport(hash_, name, points)
