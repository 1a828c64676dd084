"""``python -m benchmarks encode``: every contender in turn, each time in a fresh process, ids proven equal."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

from benchmarks import machine, peers, report
from benchmarks.contenders import CONTENDERS
from benchmarks.corpora import LANGUAGES, VOCABULARIES

TRUTH = "tiktoken"


@dataclass
class Cell:
    """What one contender did on one vocabulary and language: every round's seconds by regime, and its proofs."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    proofs: dict[str, set[str]] = field(default_factory=dict)
    bytes: dict[str, int] = field(default_factory=dict)
    failure: str | None = None

    def add(self, results: dict[str, Any]) -> None:
        """Take one process's results."""
        for regime, one in results.items():
            self.seconds.setdefault(regime, []).append(one["seconds"])
            self.proofs.setdefault(regime, set()).add(one["proof"])
            self.bytes[regime] = one["bytes"]


def run(name: str, vocabulary: str, language: str, mode: str) -> dict[str, Any] | str:
    """Run one contender in a fresh process; return its line, or the last line of what went wrong."""
    command = [str(peers.PYTHON), "-m", "benchmarks.worker", name, vocabulary, language, mode]
    done = subprocess.run(command, capture_output=True, text=True, env=peers.environment(), check=False)
    if done.returncode != 0:
        return (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
    line: dict[str, Any] = json.loads(done.stdout)
    return line


def measure(vocabulary: str, language: str, rounds: int) -> tuple[dict[str, Cell], dict[str, str]]:
    """Measure all contenders that open the vocabulary, in turn, ``rounds`` times."""
    names = [name for name, contender in CONTENDERS.items() if vocabulary in contender.vocabularies]
    cells = {name: Cell() for name in names}
    versions: dict[str, str] = {}
    for _ in range(rounds):
        for mode in ("single", "batch"):
            for name, cell in cells.items():
                if cell.failure is not None:
                    continue
                line = run(name, vocabulary, language, mode)
                if isinstance(line, str):
                    cell.failure = line
                    continue
                versions[name] = line["version"] or "this"
                cell.add(line["results"])
    return cells, versions


def judge(cells: dict[str, Cell]) -> dict[str, dict[str, Any]]:
    """Turn rounds into medians; a contender whose answer is not the truth's gets no speed.

    The truth gives no spans: those of tokd and of its peers are held against each other.
    """
    truth = cells[TRUTH]
    if truth.failure is not None:
        raise SystemExit(f"{TRUTH} failed, and without it nothing is proven: {truth.failure}")
    judged: dict[str, dict[str, Any]] = {}
    for name, cell in cells.items():
        judged[name] = {"failure": cell.failure} if cell.failure else {}
        for regime, seconds in cell.seconds.items():
            source = cells["tokd"] if regime == "offsets" else truth
            expected = source.proofs.get("small" if regime == "batch" else regime)
            if cell.proofs[regime] != expected or len(cell.proofs[regime]) != 1:
                judged[name][regime] = {"unequal": True}
            else:
                judged[name][regime] = report.summary(seconds, cell.bytes[regime])
    return judged


def main(*, short: bool) -> int:
    """Measure, write ``results/encode.json`` and ``.md``, print the tables; fail if tokd itself is unequal."""
    peers.prepare()
    vocabularies = ("cl100k_base",) if short else VOCABULARIES
    languages = ("english", "ja") if short else LANGUAGES
    rounds = 2 if short else 3
    results: dict[str, dict[str, Any]] = {}
    versions: dict[str, str] = {}
    for vocabulary in vocabularies:
        for language in languages:
            print(f"measuring {vocabulary} on {language}", file=sys.stderr)
            cells, seen = measure(vocabulary, language, rounds)
            versions |= seen
            results.setdefault(vocabulary, {})[language] = judge(cells)
    document = {"machine": machine.describe(), "versions": versions, "rounds": rounds, "results": results}
    text = report.encode_tables(document)
    if not short:
        report.write("encode", document, text)
    print(text)
    return report.exit_code(results)
