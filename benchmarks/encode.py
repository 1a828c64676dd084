"""``python -m benchmarks encode``: every contender in turn, each time in a fresh process, ids proven equal.

``--short`` takes a part of it; texts of one's own take the place of the corpora. Neither writes results.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import corpora, encode_tables, peers, process, report
from benchmarks.corpora import LANGUAGES, VOCABULARIES, WHOLE_BYTES, data_dir
from benchmarks.openers import CONTENDERS, OPENINGS, Files, open_published

TRUTH = "tiktoken"
ROUNDS, SHORT_ROUNDS = 5, 2
PATIENCE = 4
"""But for the truth, who takes so many times tokd's processor time, or has other ids, is not asked again."""


@dataclass
class Cell:
    """What one contender did on one vocabulary and text: every round's seconds by regime, and its proofs."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    proofs: dict[str, set[str]] = field(default_factory=dict)
    sizes: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, results: dict[str, Any]) -> None:
        """Take one process's results."""
        for regime, one in results.items():
            self.seconds.setdefault(regime, []).append(one["seconds"])
            self.proofs.setdefault(regime, set()).add(one["proof"])
            self.sizes[regime] = one["bytes"], one["calls"]

    def equal(self, truth: Cell) -> bool:
        """Tell whether both gave the same ids for what they encoded first."""
        return self.proofs.get("cold", set()) == truth.proofs.get("cold", set())


Cells = dict[str, dict[str, Cell]]
"""By text, then by contender."""


@dataclass
class Run:
    """One run: the files, the texts by name, how often, and who failed on what."""

    files: Files
    texts: dict[str, Path]
    rounds: int
    versions: dict[str, str] = field(default_factory=dict)
    failures: dict[str, dict[str, str]] = field(default_factory=dict)

    def ask(self, module: str, name: str, vocabulary: str, *arguments: str) -> dict[str, Any] | None:
        """Run one contender in a fresh process; keep the last line of what went wrong."""
        files = str(self.files.vocabs), str(self.files.converted)
        try:
            line: dict[str, Any] = process.ask(module, name, vocabulary, *files, *arguments, python=peers.PYTHON)
        except process.Failed as why:
            last = str(why)
            for folder in files:
                last = last.replace(f"{folder}/", "")
            self.failures.setdefault(vocabulary, {})[name] = last
            return None
        return line

    def failed(self, vocabulary: str, name: str) -> bool:
        """Tell whether a contender failed on a vocabulary before."""
        return name in self.failures.get(vocabulary, {})

    def require_truth(self, vocabulary: str) -> None:
        """Refuse to go on without the truth."""
        if self.failed(vocabulary, TRUTH):
            why = self.failures[vocabulary][TRUTH]
            raise SystemExit(f"{TRUTH} failed, and without it nothing is proven: {why}")

    def open_all(self, vocabulary: str) -> dict[str, dict[str, float]]:
        """Measure start-up and memory; whoever does not open the vocabulary is out."""
        path = next(iter(self.texts.values()))
        figures: dict[str, list[dict[str, float]]] = {name: [] for name in OPENINGS}
        proofs: dict[str, str] = {}
        for _ in range(self.rounds):
            for name, taken in figures.items():
                if self.failed(vocabulary, name):
                    continue
                line = self.ask("opening", name, vocabulary, str(path), str(WHOLE_BYTES))
                if line is not None:
                    taken.append(line["figures"])
                    proofs[name] = line["proof"]
                    self.versions[name] = line["version"] or "this"
        self.require_truth(vocabulary)
        return {
            name: {key: statistics.median(one[key] for one in taken) for key in taken[0]}
            for name, taken in figures.items()
            if taken and proofs[name] == proofs[TRUTH] and not self.failed(vocabulary, name)
        }

    def measure(self, vocabulary: str) -> Cells:
        """Measure all contenders that open the vocabulary on every text, in turn."""
        names = [name for name in CONTENDERS if not self.failed(vocabulary, name)]
        cells: Cells = {text: {name: Cell() for name in names} for text in self.texts}
        for text, path in self.texts.items():
            print(f"measuring {vocabulary} on {text}", file=sys.stderr)
            self.in_turn(vocabulary, "single", {text: path}, cells, self.rounds)
        print(f"measuring {vocabulary} in batches", file=sys.stderr)
        self.in_turn(vocabulary, "batch", self.texts, cells, self.rounds)
        return cells

    def in_turn(self, vocabulary: str, mode: str, texts: dict[str, Path], cells: Cells, rounds: int) -> None:
        """Run every contender once, then again those whose figures can still matter, from the last to the first."""
        done: set[str] = set()
        taken: dict[str, float] = {}
        order = list(next(iter(cells.values())))
        for at in range(rounds):
            for name in order[:: -1 if at % 2 else 1]:
                if name in done or self.failed(vocabulary, name):
                    continue
                line = self.ask("worker", name, vocabulary, mode, *map(str, texts.values()))
                if line is None:
                    continue
                taken[name] = line["cpu_seconds"]
                for text, path in texts.items():
                    cells[text][name].add(line["results"][str(path)])
            self.require_truth(vocabulary)
            patience = PATIENCE * taken.get(report.OURS, math.inf)
            done |= {name for name, seconds in taken.items() if seconds > patience}
            for by_name in cells.values():
                done |= {name for name, cell in by_name.items() if not cell.equal(by_name[TRUTH])}
            done.discard(TRUTH)


def judge(cells: dict[str, Cell]) -> dict[str, dict[str, Any]]:
    """Turn rounds into medians; a contender whose answer is not the truth's gets no speed.

    The truth gives no spans: those of tokd and of its peers are held against each other.
    """
    judged: dict[str, dict[str, Any]] = {name: {} for name in cells}
    for name, cell in cells.items():
        for regime, seconds in cell.seconds.items():
            source = cells[report.OURS if regime == "offsets" else TRUTH]
            expected = source.proofs.get("batch" if regime == "batch on one core" else regime)
            if cell.proofs[regime] != expected or len(cell.proofs[regime]) != 1:
                judged[name][regime] = {"unequal": True}
            else:
                judged[name][regime] = report.summary(seconds, *cell.sizes[regime])
    return judged


def proven(document: dict[str, Any]) -> bool:
    """Tell whether tokd opened everything and gave the truth's answers throughout."""
    failed = any(name.startswith(report.OURS) for by_name in document["failures"].values() for name in by_name)
    judged = [by_name for by_text in document["results"].values() for by_name in by_text.values()]
    ours = [cells for by_name in judged for name, cells in by_name.items() if name.startswith(report.OURS)]
    opened = all(report.OURS in figures for figures in document["opening"].values())
    return opened and not failed and not any(cell.get("unequal") for cells in ours for cell in cells.values())


def convert(vocabularies: tuple[str, ...]) -> Files:
    """Write what some open only as a ``tokenizer.json``: tokd's artifacts of the published files."""
    files = Files(data_dir() / "vocabs", peers.PEERS / "converted")
    for vocabulary in vocabularies:
        if not files.artifact(vocabulary).exists():
            files.converted.mkdir(exist_ok=True)
            open_published(vocabulary, files).save(files.artifact(vocabulary))
    return files


def main(*, short: bool, texts: Sequence[Path] = ()) -> int:
    """Measure, write results, tables and a chart, print the tables; fail if tokd itself is unequal."""
    languages = ("english", "ja") if short else tuple(LANGUAGES)
    paths = {LANGUAGES[name]: data_dir() / "corpora" / f"{name}.txt" for name in languages}
    if texts:
        paths = {path.name: path.resolve() for path in texts}
    if (why := corpora.unfit(paths.values())) is not None:
        raise SystemExit(why)
    peers.prepare()
    vocabularies = ("cl100k_base",) if short else VOCABULARIES
    run = Run(convert(vocabularies), paths, rounds=SHORT_ROUNDS if short else ROUNDS)
    opening: dict[str, Any] = {}
    results: dict[str, Any] = {}
    for vocabulary in vocabularies:
        print(f"opening {vocabulary}", file=sys.stderr)
        opening[vocabulary] = run.open_all(vocabulary)
        cells = run.measure(vocabulary)
        results[vocabulary] = {text: judge(by_name) for text, by_name in cells.items()}
    is_part = short or bool(texts)
    measured: dict[str, Any] = {"rounds": run.rounds, "opening": opening, "results": results}
    measured |= {"versions": run.versions, "failures": run.failures}
    document = report.tell("encode", encode_tables.markdown, short=is_part, draw=encode_tables.draw, **measured)
    if not is_part:
        report.show("encode", encode_tables.compact(document))
    return int(not proven(document))
