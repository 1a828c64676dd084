"""``python -m benchmarks train``: every trainer in turn, each time in a fresh process, merges proven equal."""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import peers, report
from benchmarks.corpora import data_dir
from benchmarks.process import Failed, ask
from benchmarks.trainers import SEPARATOR, TRAINERS
from service.reports import chart
from tokenizer_core.zstd import zstd

TRUTH = "tokenizers"
TIME_LIMIT = 600
"""Seconds; one piece of a million bytes takes some trainers longer than anybody waits."""

STRESS_LIMIT = 60


def mixed(limit: int) -> Iterator[str]:
    """Read the documents of the mixed corpus up to ``limit`` bytes."""
    size = 0
    for shard in sorted((data_dir() / "corpora" / "mixed").glob("*.jsonl.zst")):
        with zstd.open(shard, "rt", encoding="utf-8") as lines:
            for line in lines:
                text = json.loads(line)["text"]
                yield text
                size += len(text.encode())
                if size >= limit:
                    return


def write_mixed(path: Path, limit: int) -> None:
    """Write the documents as one file of text."""
    path.write_text(SEPARATOR.join(mixed(limit)), encoding="utf-8", newline="")


def sentence_pairs() -> str:
    """Return 100,000 pairs of short sentences, one a line."""
    sentences: list[str] = []
    for text in mixed(200_000_000):
        sentences += [part.strip() for part in text.split(".") if 20 < len(part) < 120 and "\n" not in part]
        if len(sentences) > 200_000:
            break
    return "\n".join(sentences[:200_000])


def write_corpora(folder: Path, *, short: bool) -> dict[str, Path]:
    """Write every corpus as one file of text."""
    rng = random.Random(2026)
    chinese = (data_dir() / "corpora" / "zh.txt").read_text(encoding="utf-8")
    texts = {
        "20 MB": SEPARATOR.join(mixed(20_000_000)),
        "100,000 sentence pairs": sentence_pairs(),
        "a million letters": "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=1_000_000)),
        "a million a": "a" * 1_000_000,
        "2 MB of Chinese": "".join(sign for sign in chinese * 3 if "\u4e00" <= sign <= "\u9fff")[:700_000],
    }
    paths = {name: folder / f"{index}.txt" for index, name in enumerate(texts)}
    for name, text in texts.items():
        paths[name].write_text(text, encoding="utf-8", newline="")
    if not short:
        paths["200 MB"] = folder / "200.txt"
        write_mixed(paths["200 MB"], 1 << 40)
    return paths


CASES = (
    ("20 MB", 32_000),
    ("20 MB", 100_000),
    ("200 MB", 32_000),
    ("200 MB", 100_000),
    ("100,000 sentence pairs", 10_256),
    ("a million letters", 4_000),
    ("a million a", 4_000),
    ("2 MB of Chinese", 4_000),
)
SHORT = (("20 MB", 32_000), ("100,000 sentence pairs", 10_256), ("a million a", 4_000))


def run(limit: float, module: str, *arguments: object) -> dict[str, Any]:
    """Run a trainer in a fresh process."""
    try:
        line: dict[str, Any] = ask(module, *arguments, python=peers.PYTHON, limit=limit)
    except Failed as why:
        return {"failure": str(why)}
    return line


def fastest(names: Iterable[str], rounds: int, train: Callable[[str], dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Run all trainers in turn; keep the fastest run of each, or how it failed."""
    best: dict[str, dict[str, Any]] = {}
    for _ in range(rounds):
        for name in names:
            if "failure" in best.get(name, {}):
                continue
            line = train(name)
            if "failure" in line or line["seconds"] < best.get(name, line)["seconds"] or name not in best:
                best[name] = line
    return best


def measure(path: Path, vocab_size: int, rounds: int, limit: float) -> dict[str, dict[str, Any]]:
    """Run all trainers in turn, and name unequal merges."""
    best = fastest(TRAINERS, rounds, lambda name: run(limit, "trainers", name, path, vocab_size))
    truth = best[TRUTH].get("proof")
    for line in best.values():
        line["unequal"] = truth is not None and line.get("proof") not in (None, truth)
    return best


def shown(line: dict[str, Any]) -> str:
    """Write one cell."""
    if "failure" in line:
        return str(line["failure"])[:40]
    text = f"{line['seconds']:.2f} / {line['cpu_seconds']:.2f} / {line['megabytes']:.0f}"
    return f"{text} (other merges)" if line["unequal"] else text


def table(document: dict[str, Any]) -> str:
    """Write the result as Markdown."""
    results = document["results"]
    lines = [
        f"Wall seconds / processor seconds / peak MB of the process, the fastest of {document['rounds']} runs in turn,"
        f" each in a fresh process; {report.on(document)}. GPT-2's pattern.",
        "tokd's merges are those of Hugging Face's trainer; sentencepiece and rustbpe do other work.",
        "",
    ]
    rows = []
    for name in TRAINERS:
        version = document["versions"].get(name, "failed")
        label = name if version == "this" else f"{name} {version}"
        rows.append([label, *(shown(cells[name]) for cells in results.values())])
    ratios = []
    for cells in results.values():
        others = [line["seconds"] for name, line in cells.items() if name != report.OURS and "seconds" in line]
        ours = cells[report.OURS].get("seconds")
        ratios.append(f"{ours / min(others):.2f}" if ours is not None and others else "-")
    return "\n".join([*lines, *report.table(["", *results], [*rows, ["**tokd / best peer**", *ratios]])])


def draw(document: dict[str, Any]) -> str:
    """Draw the wall seconds of the largest corpus."""
    case = "200 MB, 32,000"
    seconds = {
        name: round(line["seconds"], 2)
        for name, line in document["results"][case].items()
        if "seconds" in line and name in document["versions"]
    }
    return chart.bars(f"Training on {case} tokens: wall time", seconds, "s")


def main(*, short: bool) -> int:
    """Measure, write ``results/train.json`` and ``.md``, print the table; fail if tokd's merges are not the truth's."""
    peers.prepare()
    rounds = 1 if short else 2
    results: dict[str, dict[str, Any]] = {}
    versions: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as name:
        paths = write_corpora(Path(name), short=short)
        for corpus, vocab_size in SHORT if short else CASES:
            print(f"training {vocab_size} tokens on {corpus}", file=sys.stderr)
            limit = TIME_LIMIT if corpus[0].isdigit() and "Chinese" not in corpus else STRESS_LIMIT
            cells = measure(paths[corpus], vocab_size, rounds, limit)
            results[f"{corpus}, {vocab_size:,}"] = cells
            versions |= {trainer: line["version"] for trainer, line in cells.items() if "version" in line}
    report.tell("train", table, short=short, draw=draw, versions=versions, rounds=rounds, results=results)
    return int(any("failure" in cells["tokd"] or cells["tokd"]["unequal"] for cells in results.values()))
