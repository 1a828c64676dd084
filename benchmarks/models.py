"""``python -m benchmarks models``: train other models than byte-level BPE beside the peers, results checked first."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import peers, report
from benchmarks.corpora import data_dir
from benchmarks.model_trainers import MODELS
from benchmarks.train import fastest, mixed, run
from benchmarks.trainers import SEPARATOR

SIZES = {"english": 32_000, "ja": 32_000, "20 MB": 32_000, "200 MB": 32_000}
SHORT = ("english",)
ONCE = ("20 MB", "200 MB")
"""Corpora on which one run is long enough."""

LIMITS = {"english": 180, "ja": 180, "20 MB": 400, "200 MB": 180}
"""Seconds of a run; some trainers of Unigram take many minutes for much text, and are compared on 20 MB."""

HELD_OUT = {"english": 10, "ja": 10, "20 MB": 50, "200 MB": 500}
"""One of so many lines or documents is kept for the comparison of results."""


def write_corpora(folder: Path, names: tuple[str, ...]) -> None:
    """Write each corpus, and what is held out of it, as documents without line feeds."""
    limits = {"20 MB": 20_000_000, "200 MB": 1 << 40}
    for name in names:
        if name in limits:
            texts = [" ".join(text.split("\n")) for text in mixed(limits[name])]
        else:
            texts = (data_dir() / "corpora" / f"{name}.txt").read_text(encoding="utf-8").split("\n")
        texts = [text for text in texts if text.strip()]
        step = HELD_OUT[name]
        parts = {"txt": [text for at, text in enumerate(texts) if at % step], "held": texts[::step]}
        for end, kept in parts.items():
            (folder / f"{name}.{end}").write_text(SEPARATOR.join(kept), encoding="utf-8", newline="")


def measure(folder: Path, model: str, corpus: str, rounds: int) -> dict[str, dict[str, Any]]:
    """Run all trainers of a model in turn, and keep the fastest run of each, with what its result is worth."""
    ours = folder / "tokd.json"

    def train(name: str) -> dict[str, Any]:
        first = [ours] if model == "WordPiece" and name != "tokd" else []
        where = folder / f"{corpus}.txt", SIZES[corpus], folder / f"{name}.json"
        return run(LIMITS[corpus], "model_trainers", "train", model, name, *where, *first)

    best = fastest(MODELS[model], rounds, train)
    for name, line in best.items():
        if "failure" in line:
            continue
        output = folder / f"{name}.json"
        line["entries"] = len(json.loads(output.read_text("utf-8"))["entries"])
        if model == "WordPiece":
            texts = [[text for text, _ in json.loads(path.read_text("utf-8"))["entries"]] for path in (ours, output)]
            line["equal"] = texts[0] == texts[1]
        else:
            line |= run(LIMITS[corpus], "model_trainers", "score", model, output, folder / f"{corpus}.held")
    return best


def shown(line: dict[str, Any], ours: dict[str, Any]) -> list[str]:
    """Write the cells of one trainer; tokens and likelihood beside ours."""
    if "failure" in line:
        return [str(line["failure"])[:40], "", ""]
    cost = f"{line['seconds']:.1f} / {line['cpu_seconds']:.1f} / {line['megabytes']:.0f}"
    made = f"{line['entries']:,}"
    if "equal" in line:
        return [cost, made, "the same entries" if line["equal"] else "other entries"]
    told = f"{line['tokens']:,} ({ours['tokens'] / line['tokens']:.4f})" if "tokens" in ours else f"{line['tokens']:,}"
    return [cost, made, told + (f", {line['likelihood']:.4f}" if "likelihood" in line else "")]


def table(document: dict[str, Any]) -> str:
    """Write the result as Markdown."""
    lines = [
        f"Wall seconds / processor seconds / peak MB of the process, the fastest of {document['rounds']} runs in turn"
        f" (of one on {' and '.join(ONCE)}), each in a fresh process; "
        f"{report.on(document)}.",
        "Results: tokens of held-out text (tokd's, divided by these), and the mean log-likelihood of a character.",
        "",
    ]
    rows = (
        [*case.split(": "), name, *shown(line, cells["tokd"])]
        for case, cells in document["results"].items()
        for name, line in cells.items()
    )
    head = ["model", "corpus, entries", "trainer", "cost", "entries made", "result"]
    return "\n".join([*lines, *report.table(head, rows)])


def main(*, short: bool) -> int:
    """Measure, write ``results/models.json`` and ``.md``, print the table; fail if a result of tokd is worse."""
    peers.prepare()
    rounds = 1 if short else 2
    names = SHORT if short else tuple(SIZES)
    results: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        write_corpora(folder, names)
        for corpus in names:
            for model in MODELS:
                print(f"training {model} on {corpus}", file=sys.stderr)
                cells = measure(folder, model, corpus, 1 if corpus in ONCE else rounds)
                results[f"{model}: {corpus}, {SIZES[corpus]:,}"] = cells
    report.tell("models", table, short=short, rounds=rounds, results=results)
    return int(any(map(is_worse, results.values())))


def is_worse(cells: dict[str, dict[str, Any]]) -> bool:
    """Tell whether tokd failed, has other entries, half a percent more tokens than anybody else, or less likelihood."""
    ours = cells["tokd"]
    if "failure" in ours or any(line.get("equal") is False for line in cells.values()):
        return True
    best = max((line["likelihood"] for line in cells.values() if "likelihood" in line), default=None)
    tokens = [line["tokens"] for line in cells.values() if "tokens" in line]
    return ours.get("likelihood") != best or any(1000 * ours["tokens"] > 1005 * count for count in tokens)
