"""Count a corpus over an engine: a call counts a shard, another adds up some sections of all shards.

All are files of one directory. Sections divide pieces by their hashes, so that the sums of the calls are only put
together in the end; the first of them also has the sums of what was read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from tokenizer_core import atomic_files
from tokenizer_core._kernel import COUNT_SECTIONS
from tokenizer_core.corpus.files import Files
from tokenizer_core.corpus.reading import Meter, Source, can_seek, is_packed
from tokenizer_core.engines.engine import Call, Engine
from tokenizer_core.training import sorted_counts
from tokenizer_core.training.counting import Counting, Rules, cut_of
from tokenizer_core.training.progress import Progress, Reporter
from tokenizer_core.training.shards import Shard, shards
from tokenizer_core.training.sorted_counts import read_header

MAX_SHARDS = 4096
"""The corpus is cut into about as many at most: every one of them has a file, of which each sum reads its sections."""

MOST_PARTS = 64


@dataclass(frozen=True, slots=True)
class Stretch:
    """The input of one call that counts: files, or the part of a large one between two bytes.

    Attributes:
        size: bytes on the disk.
    """

    key: str
    shard: Shard
    size: int
    start: int = 0
    stop: int | None = None


def count_over(
    engine: Engine,
    directory: Path,
    found: Sequence[Source],
    files: Files,
    rules: Rules,
    reporter: Reporter,
    meter: Meter,
    *,
    shard_bytes: int,
) -> list[str]:
    """Count files into a directory that all hosts share, and return the names of the counts, each of a part.

    Counts that are there from an earlier run are not made again.
    """
    total = sum(source.size or 0 for source in found)
    shard_bytes = max(shard_bytes, total // MAX_SHARDS)
    stretches = list(_stretches(found, files, rules, reporter, shard_bytes))
    parts = min(MOST_PARTS, 1 << max(2, (len(stretches) - 1).bit_length()))
    counted = {stretch.key: directory / f"{stretch.key}.sorted" for stretch in stretches}
    # A call is one of many at a time, so it takes one thread; its files are found already.
    rules, plain = replace(rules, threads=1), replace(files, paths=())
    counting = [
        _call(stretch.key, counted[stretch.key], count_stretch, counted[stretch.key], stretch, plain, rules)
        for stretch in stretches
    ]
    sizes, done = {stretch.key: stretch.size for stretch in stretches}, 0
    for call in _done(engine, counting, reporter):
        meter.unpack((read_header(counted[call.name]) or {})["unpacked"])
        done += sizes[call.name]
        reporter.progress = Progress("counting", done, total, "bytes")
    keys = json.dumps([*counted]).encode()
    whole = hashlib.sha256(keys).hexdigest()
    listed = directory / f"{whole}.json"
    atomic_files.replace(listed, [keys])
    names = [f"{whole}-{part}-of-{parts}.sorted" for part in range(parts)]
    adding = [
        _call(name, directory / name, add_part, directory / name, listed, part, parts)
        for part, name in enumerate(names)
    ]
    for _ in _done(engine, adding, reporter):
        pass
    return names


def count_stretch(path: Path, stretch: Stretch, files: Files, rules: Rules) -> None:
    """Count a stretch into a file."""
    shard = stretch.shard
    with sorted_counts.spills_for(path) as spills:
        if stretch.stop is None:
            total = sum(source.size or 0 for source in shard.sources)
            counting = Counting(files, rules, Reporter(None), total=total, spill=spills.add)
            counts = counting.of_sources(shard.sources)
        else:
            (source,) = shard.sources
            if (cut := cut_of(source, files, rules)) is None:
                raise ValueError(f"{source.name} cannot be cut")
            counts = Counting(files, rules, Reporter(None)).of_stretch(source, stretch.start, stretch.stop, cut)
        shard.check_unchanged()
        spills.save(path, counts)


def add_part(path: Path, listed: Path, part: int, parts: int) -> None:
    """Add up a share of the sections of all stretches that a file lists."""
    paths = [path.with_name(f"{key}.sorted") for key in json.loads(listed.read_bytes())]
    numbers = range(part * COUNT_SECTIONS // parts, (part + 1) * COUNT_SECTIONS // parts)
    sorted_counts.merge(paths, path, {} if part else sorted_counts.sums(paths), numbers)


def _stretches(
    found: Sequence[Source], files: Files, rules: Rules, reporter: Reporter, shard_bytes: int
) -> Iterator[Stretch]:
    for shard in shards(found, files, rules, reporter.check, shard_bytes=shard_bytes, reads=False):
        source = shard.sources[0]
        if not shard.is_large or cut_of(source, files, rules) is None or is_packed(source) or not can_seek(source):
            yield Stretch(shard.key, shard, shard.size)
            continue
        for start in range(0, shard.size, shard_bytes):
            stop = min(start + shard_bytes, shard.size)
            yield Stretch(f"{shard.key}-{start}-{stop}", shard, stop - start, start, stop)


def _call(name: str, made: Path, function: Callable[..., None], *arguments: Any) -> Call:
    return Call(name, function, arguments, partial(_is_there, made))


def _done(engine: Engine, calls: Sequence[Call], reporter: Reporter) -> Iterator[Call]:
    """Do calls, and return each when it is done, those of earlier runs first."""
    left = []
    for call in calls:
        if call.is_done():
            yield call
        else:
            left.append(call)
    yield from engine.run(left, reporter.check)


def _is_there(path: Path) -> bool:
    return read_header(path) is not None
