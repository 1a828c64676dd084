"""Divide a corpus into shards: the units of counting, and the keys of their counts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tokenizer_core._kernel import UNICODE_VERSION, VERSION
from tokenizer_core.corpus.files import Files
from tokenizer_core.corpus.reading import Pause, Source, failures
from tokenizer_core.errors import InvalidCorpus
from tokenizer_core.training.counting import Rules
from tokenizer_core.training.sorted_counts import FORMAT

SHARD_BYTES = 128 << 20
"""Files are counted together up to this size: what a killed run may lose, against what writing counts costs."""

_PACKED = 4
"""Assumed ratio of unpacked to packed size."""


@dataclass(frozen=True, slots=True)
class Shard:
    """Files that are counted together.

    Attributes:
        key: hash of what names their content, and of everything else that can change their counts.
        size: bytes on the disk.
        stamps: of the files when the key was made.
        is_large: whether it is one file that is larger than a shard.
    """

    key: str
    sources: tuple[Source, ...]
    size: int
    stamps: tuple[object, ...]
    is_large: bool

    def check_unchanged(self) -> None:
        """Refuse counts of files that have changed since the key was made.

        Raises:
            InvalidCorpus
        """
        for source, stamp in zip(self.sources, self.stamps, strict=True):
            with failures(source):
                is_same = source.stamp() == stamp
            if not is_same:
                message = f"{source.name} changed while it was read; train again when it is complete"
                raise InvalidCorpus(message, file=source.name)


def shards(
    found: Sequence[Source],
    files: Files,
    rules: Rules,
    pause: Pause,
    *,
    shard_bytes: int = SHARD_BYTES,
    reads: bool = True,
) -> Iterator[Shard]:
    """Put files together into shards, in the order given; ``pause`` is called now and then.

    Args:
        reads: name a file by its content; otherwise by its name and what tells cheaply whether it has changed.
    """
    group: list[Source] = []
    weight = 0
    for source in found:
        size = (source.size or 0) * (_PACKED if source.compression else 1)
        if group and weight + size > shard_bytes:
            yield _shard(group, files, rules, pause, is_large=weight > shard_bytes, reads=reads)
            group, weight = [], 0
        group.append(source)
        weight += size
    if group:
        yield _shard(group, files, rules, pause, is_large=weight > shard_bytes, reads=reads)


def texts_key(texts: Iterable[str], rules: Rules) -> str:
    """Hash documents and what can change their counts."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(hashlib.sha256(text.encode()).digest())
    return _key([digest.hexdigest()], rules)


def _shard(group: Sequence[Source], files: Files, rules: Rules, pause: Pause, *, is_large: bool, reads: bool) -> Shard:
    stamps, parts = [], []
    for source in group:
        with failures(source):
            pause()
            stamps.append(source.stamp())
            identity = source.identity(pause) if reads else f"{source.name} {stamps[-1]!r}"
            part = [identity, source.format, source.compression, files.field, files.column, files.on_error]
            parts.append([*part, source.language, source.is_parallel, files.language_field])
    return Shard(_key(parts, rules), tuple(group), sum(source.size or 0 for source in group), tuple(stamps), is_large)


def _key(parts: object, rules: Rules) -> str:
    covered = [FORMAT, VERSION, UNICODE_VERSION, rules.header(), rules.replace_invalid, parts]
    return hashlib.sha256(json.dumps(covered, sort_keys=True).encode()).hexdigest()
