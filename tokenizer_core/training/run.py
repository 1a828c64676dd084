"""A training run in a directory that keeps finished work: after a kill, the same calls resume it.

``counts/<key>.sorted`` are the counts of a part of the corpus, named by the hash of the part's content and of every
setting that changes counts. ``counted-<key>.txt`` lists those of a whole corpus. ``merges-<key>.txt`` is the list of
merges so far, named by the counts it is made from and every setting that changes merges. A file is whole or not there,
so what is there need not be made again, and what a run makes does not depend on how often it was interrupted.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path

from tokenizer_core import atomic_files
from tokenizer_core._kernel import VERSION
from tokenizer_core.arguments import check_call, check_kind, integer_of, place_of, tuple_of
from tokenizer_core.artifact import holds
from tokenizer_core.corpus.bounds import UNBOUNDED, Bounds
from tokenizer_core.corpus.files import Files, sources
from tokenizer_core.corpus.languages import check_parallel
from tokenizer_core.corpus.reading import Meter
from tokenizer_core.corpus.segments import Cut, Segments
from tokenizer_core.engines.engine import Engine
from tokenizer_core.errors import CorpusError, InternalError
from tokenizer_core.tokenizer import Tokenizer
from tokenizer_core.training import checksummed_file, sorted_counts
from tokenizer_core.training.cluster_counts import count_over
from tokenizer_core.training.counting import Counting, Rules, count, cut_of
from tokenizer_core.training.counts import Counts, require_pieces
from tokenizer_core.training.entry_plan import NewEntries
from tokenizer_core.training.learning import Learned, Unit
from tokenizer_core.training.merge_log import MergeLog
from tokenizer_core.training.parity_costs import costs, parallel_lines
from tokenizer_core.training.plans import NewVocabulary, Plan, warn_of_huge_pieces, warn_of_rare_pieces
from tokenizer_core.training.progress import Progress, Report, Reporter
from tokenizer_core.training.recipe import Recipe
from tokenizer_core.training.report import SampleReport, SizeReport, TrainingReport, beginnings, longest_tokens
from tokenizer_core.training.shards import SHARD_BYTES, Shard, shards, texts_key
from tokenizer_core.training.sorted_counts import read_header, spills_for


class TrainingRun:
    """One run: ``count``, ``merge`` and ``publish``, each of which does what is not done yet.

    Two runs that work in one directory at once lose time, but never a file.

    >>> import tempfile
    >>> from tokenizer_core import Recipe, TrainingRun
    >>> recipe = Recipe.from_dict({"corpus": {"texts": ["low lower lowest"]}, "vocab_size": 258})
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     run = TrainingRun(directory, recipe)
    ...     run.count()
    ...     run.merge()
    ...     run.report().longest_tokens
    ('low', 'lo')
    """

    def __init__(
        self,
        directory: str | Path,
        recipe: Recipe,
        *,
        bounds: Bounds = UNBOUNDED,
        progress: Report | None = None,
        threads: int = 0,
        shard_bytes: int = SHARD_BYTES,
        memory: int | None = None,
        left_out: Sequence[str | Path] = (),
        engine: Engine | None = None,
    ) -> None:
        """Prepare a run; ``threads``, ``shard_bytes``, ``memory`` and ``engine`` change nothing of its result.

        Args:
            directory: made if it is not there.
            bounds: what the corpus may be.
            progress: called some ten times a second; what it raises ends the run, and all that is done is kept.
            threads: for counting; 0 means one a core.
            shard_bytes: files are counted together up to this size.
            memory: bytes that counting may hold (by default 1 GiB); what is over goes to the disk. What is learned from
                needs memory by its distinct pieces; Unigram refuses a corpus for which a given bound is too small.
            left_out: files and directories below the corpus that are not part of it; the run's own never is.
            engine: counts files, such as a ``RayEngine``, whose hosts share ``directory`` and the files.

        Raises:
            ArtifactError: the artifact to extend cannot be opened.
            InvalidSettings
        """
        check_kind(recipe, Recipe, "recipe")
        check_kind(bounds, Bounds, "bounds")
        check_call(progress, "progress")
        self._engine, self._recipe, self._bounds, self._report = engine, recipe, bounds, progress
        # Absolute: other processes write there too.
        self._directory = place_of(directory, "directory").absolute()
        self._shard_bytes = integer_of(shard_bytes, "shard_bytes", 1)
        places = (place_of(path, f"left_out[{at}]") for at, path in enumerate(tuple_of(left_out, "left_out")))
        self._left_out = (self._directory, *places)
        self._plan: Plan = recipe.plan()
        rules = self._plan.rules(replace_invalid=recipe.replace_invalid, threads=threads)
        if memory is not None:
            rules = replace(rules, memory=integer_of(memory, "memory", 1))
            if isinstance(self._plan, NewEntries):
                self._plan = replace(self._plan, memory=memory)
        self._rules: Rules = rules
        self._counts_directory = self._directory / "counts"
        self._counts_directory.mkdir(parents=True, exist_ok=True)
        for each in (self._directory, self._counts_directory):
            atomic_files.sweep(each)

    def count(self) -> None:
        """Count every part of the corpus whose counts are not there.

        Raises:
            CorpusError: with the file and the byte, line or row.
        """
        corpus = self._recipe.corpus
        names = self._count_texts(corpus) if isinstance(corpus, tuple) else self._count_files(corpus)
        checksummed_file.replace(self._counted, json.dumps(list(names)).encode())

    def save_counts(self, path: str | Path) -> None:
        """Write the counts of the whole corpus into one file, packed if its name ends in ``.zst``.

        Pieces longer than ``max_piece_length`` are in it too, so that it is the corpus for any other settings.
        """
        if not self._is_counted:
            self.count()
        self._all_counts().save(path)

    @property
    def learns(self) -> Unit:
        """The unit of ``merge``, of several the first: merges, tokens of a model without them, or characters."""
        return self._plan.learns

    def merge(self) -> None:
        """Learn the merges, after what was learned before; count first if that is not done.

        Raises:
            CorpusError
        """
        if not self._is_counted:
            self.count()
        log = MergeLog.open(self._merges_path())
        if log.is_complete:
            return
        reporter = Reporter(self._report, learns=self._plan.learns)
        reporter.begin_learning(self._plan.wanted)
        counts = self._all_counts(
            self._plan.settings.max_piece_length, self._plan.settings.min_count, reporter.progress
        )
        warn_of_huge_pieces(counts)
        warn_of_rare_pieces(counts)
        log.corpus, log.longest = reporter.run(counts.summary), len(counts.pieces.longest)
        learned = self._plan.follow(counts, reporter, self._rules.threads, log)
        log.add(learned.merges[len(log.merges) :])
        if isinstance(self._plan, NewEntries):
            log.keep(learned)
        if isinstance(self._plan, NewVocabulary) and self._plan.settings.parity:
            lines = parallel_lines(self._recipe.corpus, self._bounds, self._left_out)
            log.languages = costs(self._plan, counts.pieces, learned, lines, reporter)
        log.is_complete = True
        log.write()
        self.__dict__.pop("_finished", None)
        if reporter.progress.unit != "rounds":
            reporter.progress = replace(reporter.progress, done=len(learned.tokens) - len(learned.start.tokens))
        reporter.report()

    def tokenizers(self) -> list[Tokenizer]:
        """Return the tokenizer of ``vocab_size``, then one for each of ``sizes``."""
        learned, log = self._finished
        made = self._plan.tokenizers(learned, log.corpus)
        return [self._recipe.finished(one, name) for one, name in zip(made, self._recipe.names, strict=True)]

    def publish(self, target: str | Path) -> Tokenizer:
        """Write the artifact directory, and one for each of ``sizes`` beside it; return the tokenizer.

        Another size is in ``<target>-<size>``.
        """
        target = place_of(target, "target")
        made = self._made()
        self._put(made, self._places(target), self._recipe.names)
        return made[0]

    def in_the_way(self, target: str | Path) -> list[Path]:
        """Return the obstacles where ``publish`` would write, except results of this run.

        An artifact among these would be replaced. Nothing is published before all merges are made.
        """
        places = self._places(place_of(target, "target"))
        if not any(map(os.path.lexists, places)):
            return []
        is_merged = self._is_counted and MergeLog.open(self._merges_path()).is_complete
        made = self.tokenizers() if is_merged else [None] * len(places)
        return [
            place
            for place, tokenizer, name in zip(places, made, self._recipe.names, strict=True)
            if os.path.lexists(place) and (tokenizer is None or not holds(place, tokenizer.parts, name=name))
        ]

    def publish_under(self, root: str | Path) -> list[Path]:
        """Write the artifact directory ``root/<hash>[-<name>]``, and one for each of ``sizes``; return all of them.

        What is there already is left alone: the same tokenizer is published once, however often this is called. Where
        several sizes make the same tokenizer and have no name, because no pair was left for a larger one, the first is
        published.
        """
        root = place_of(root, "root")
        made = self._made()
        digits = [one.hash.removeprefix("sha256:") for one in made]
        names = self._recipe.names
        places = [root / "-".join(filter(None, named)) for named in zip(digits, names, strict=True)]
        self._put(made, places, [name or "trained" for name in names])
        return places

    def report(self) -> TrainingReport:
        """Say what was counted and learned."""
        learned, log = self._finished
        tokenizer, *others = self.tokenizers()
        sums = sorted_counts.sums([self._counts_directory / name for name in self._names()])
        return TrainingReport(
            hash=tokenizer.hash,
            corpus=log.corpus,
            vocab_size=tokenizer.vocab_size,
            wanted=self._recipe.settings.vocab_size,
            tokens=len(learned.tokens) - len(learned.start.tokens),
            merges=len(learned.merges),
            longest_tokens=longest_tokens(learned),
            frequencies=tuple(merge[3] for merge in learned.merges),
            skipped=sums["skipped"],
            first_skipped=tuple(sums["first_skipped"]),
            longest_piece=log.longest,
            seconds=log.seconds,
            timeline=tuple(log.timeline),
            curve=tuple(log.curve),
            languages=tuple(log.languages),
            sizes=tuple(
                SizeReport(wanted, one.vocab_size, one.hash)
                for wanted, one in zip(self._recipe.sizes, others, strict=True)
            ),
            sample=self._sample(tokenizer),
        )

    def _sample(self, tokenizer: Tokenizer) -> SampleReport | None:
        try:
            sample = SampleReport.of(tokenizer, beginnings(self._recipe.corpus, self._bounds, self._left_out))
        except CorpusError:
            # A report of what was counted does not need the files any more.
            return None
        return sample if sample.lines else None

    def _count_texts(self, texts: Sequence[str]) -> Iterator[str]:
        self._bounds.check_size(sum(len(text.encode()) for text in texts), "corpus.texts")
        path = self._counts_directory / f"{texts_key(texts, self._rules)}.sorted"
        if read_header(path) is None:
            sorted_counts.save(path, count(iter(texts), self._rules, progress=self._report))
        yield path.name

    def _count_files(self, files: Files) -> Iterator[str]:
        reporter, meter, done = Reporter(self._report), Meter(bounds=self._bounds), 0
        found = reporter.run(partial(sources, files, self._bounds, self._left_out))
        reporter.run(partial(check_parallel, found, self._bounds))
        total = sum(source.size or 0 for source in found)
        reporter.progress = Progress("counting", 0, total, "bytes")
        reporter.report()
        if self._engine is not None:
            counted = partial(count_over, self._engine, self._counts_directory, found, files, self._rules, reporter)
            yield from reporter.run(partial(counted, meter, shard_bytes=self._shard_bytes))
            return
        counting = Counting(files, self._rules, reporter, meter, total)
        parts = shards(found, files, self._rules, reporter.check, shard_bytes=self._shard_bytes)
        while (shard := reporter.run(partial(next, parts, None))) is not None:
            cut = cut_of(shard.sources[0], files, self._rules) if shard.is_large else None
            if cut is None:
                yield self._count_shard(shard, counting)
            else:
                yield from self._count_segments(shard, cut, counting)
            done += shard.size
            meter.bytes = done
            reporter.progress = Progress("counting", done, total, "bytes")
            reporter.report()

    def _count_shard(self, shard: Shard, counting: Counting) -> str:
        path = self._counts_directory / f"{shard.key}.sorted"
        if (header := read_header(path)) is not None:
            counting.meter.unpack(header["unpacked"])
            return path.name
        with spills_for(path) as spills:
            counts = replace(counting, spill=spills.add).of_sources(shard.sources)
            shard.check_unchanged()
            counting.reporter.run(partial(spills.save, path, counts))
        return path.name

    def _count_segments(self, shard: Shard, cut: Cut, counting: Counting) -> Iterator[str]:
        (source,), segments, meter, reporter = shard.sources, None, counting.meter, counting.reporter
        position, before, is_last = 0, (meter.bytes, meter.unpacked), False
        while not is_last:
            path = self._counts_directory / f"{shard.key}-{position}.sorted"
            if (header := read_header(path)) is not None:
                position, is_last = header["end"], header["last"]
                self._bounds.check_size(before[1] + position)
            else:
                if segments is None:
                    meter.bytes, meter.unpacked = before
                    segments = Segments(source, meter, cut)
                reporter.run(partial(segments.skip, position, reporter.check))
                with spills_for(path) as spills:
                    counts = replace(counting, spill=spills.add).of_segment(source, segments, self._shard_bytes)
                    shard.check_unchanged()
                    position, is_last = segments.position, segments.is_at_end
                    reporter.run(partial(spills.save, path, counts, end=position, last=is_last))
            yield path.name
        meter.unpacked = before[1] + position

    def _all_counts(
        self, max_piece_length: int | None = None, min_count: int = 1, shown: Progress | None = None
    ) -> Counts:
        """Add up the counts of the whole corpus to what is learned from; meanwhile ``shown`` is reported."""
        paths = [self._counts_directory / name for name in self._names()]
        report = self._report
        reporter = Reporter(report if report is None or shown is None else lambda _: report(shown))
        reduce = partial(sorted_counts.reduce, has_languages=self._rules.has_languages)
        add_up = partial(reduce, paths, max_piece_length, min_count, reporter.check)
        pieces, dropped = reporter.run(add_up)
        sums = sorted_counts.sums(paths)
        counts = Counts(
            pieces,
            self._rules.config,
            self._rules.special_tokens,
            max_piece_length,
            sums["documents"],
            sums["bytes"],
            sums["unpacked"],
            min_count=min_count,
            dropped=dropped,
            has_languages=self._rules.has_languages,
        )
        require_pieces(counts)
        return counts

    @cached_property
    def _counted(self) -> Path:
        """The file with the list of count files, named by the corpus and the settings of counting."""
        covered = [self._recipe.to_dict()["corpus"], self._rules.header(), self._rules.replace_invalid]
        return self._directory / f"counted-{_key(covered)}.txt"

    @property
    def _is_counted(self) -> bool:
        try:
            return all((self._counts_directory / name).exists() for name in self._names())
        except (FileNotFoundError, ValueError):
            return False

    def _names(self) -> list[str]:
        names: list[str] = json.loads(checksummed_file.read(self._counted))
        return names

    def _merges_path(self) -> Path:
        settings = self._plan.settings
        covered = [VERSION, self._names(), settings.max_piece_length, settings.min_count, *self._plan.key]
        return self._directory / f"merges-{_key(covered)}.txt"

    @cached_property
    def _finished(self) -> tuple[Learned, MergeLog]:
        self.merge()
        log = MergeLog.open(self._merges_path())
        if not log.is_complete:
            raise InternalError("the merges are not complete after they were made; please report this")
        return self._plan.restored(log), log

    def _places(self, target: Path) -> list[Path]:
        return [target, *(target.with_name(f"{target.name}-{size}") for size in self._recipe.sizes)]

    def _made(self) -> list[Tokenizer]:
        """Return the tokenizers, and report while they are made."""
        self.merge()
        reporter = self._publishing()
        reporter.report()
        return reporter.run(self.tokenizers)

    def _put(self, made: Sequence[Tokenizer], places: Sequence[Path], names: Sequence[str | None]) -> None:
        """Write artifacts that do not stand in their places; of several for one place the first."""
        reporter = self._publishing()
        for done, (tokenizer, place, name) in enumerate(zip(made, places, names, strict=True), 1):
            is_first = place not in places[: done - 1]
            if is_first and not reporter.run(partial(holds, place, tokenizer.parts, name=name)):
                reporter.run(partial(tokenizer.save, place, name=name))
            reporter.progress = replace(reporter.progress, done=done)
            reporter.report()

    def _publishing(self) -> Reporter:
        reporter = Reporter(self._report)
        reporter.progress = Progress("publishing", 0, 1 + len(self._recipe.sizes), "files")
        return reporter


def _key(covered: object) -> str:
    return hashlib.sha256(json.dumps(covered, sort_keys=True).encode()).hexdigest()
