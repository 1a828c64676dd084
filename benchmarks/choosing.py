"""``python -m benchmarks choosing``: every trainer on the same texts, and what its tokens are worth on others.

The texts are the first half of six corpora together; tokens are counted in the last fifth of each, which no trainer
saw. tokd has the settings that are named here and its defaults, SentencePiece its own.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from time import process_time
from typing import Any

from benchmarks import report
from benchmarks.corpora import LANGUAGES, data_dir
from service.reports import chart
from tokenizer_core import train

SIZES = (8_000, 16_000, 32_000)
SHORT = (8_000,)
HELD_OUT = 200_000
"""Characters of a corpus in which tokens are counted."""

OURS: Mapping[str, Mapping[str, Any]] = {
    "BPE": {},
    "BPE with superwords": {"superwords_from": 0.8},
    "BPE as SentencePiece has it": {"style": "sentencepiece"},
    "Unigram": {"model": "unigram"},
    "Unigram that keeps spaces": {
        "model": "unigram",
        "remove_extra_whitespaces": False,
        "allow_whitespace_only_pieces": True,
        "byte_fallback": True,
        "normalizer": [],
    },
    "WordPiece": {"model": "wordpiece", "normalizer": ["bert_cased"], "limit_alphabet": 3_000},
}
THEIRS = {"SentencePiece, BPE": "bpe", "SentencePiece, Unigram": "unigram"}

Encode = Callable[[list[str]], Iterable[Iterable[int]]]
Decode = Callable[[list[int]], str]


def ours(lines: list[str], size: int, settings: Mapping[str, Any]) -> tuple[Encode, Decode]:
    """Train with tokd."""
    tokenizer = train(iter(lines), size, **settings)
    return tokenizer.encode_batch, tokenizer.decode


def theirs(lines: list[str], size: int, model: str) -> tuple[Encode, Decode]:
    """Train with SentencePiece, on two threads and lines of any length."""
    import sentencepiece

    with tempfile.TemporaryDirectory() as folder:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_prefix=f"{folder}/m",
            vocab_size=size,
            model_type=model,
            num_threads=2,
            minloglevel=2,
            max_sentence_length=1 << 20,
        )
        processor = sentencepiece.SentencePieceProcessor(model_file=f"{folder}/m.model")
    return processor.encode, processor.decode


def worth(encode: Encode, decode: Decode, held: Mapping[str, list[str]]) -> dict[str, Any]:
    """Return the characters of a token in each corpus, and the share of lines that come back."""
    found, same, count = {}, 0, 0
    for name, lines in held.items():
        ids = [list(row) for row in encode(lines)]
        found[name] = sum(map(len, lines)) / sum(map(len, ids))
        same += sum(decode(row) == line for row, line in zip(ids, lines, strict=True))
        count += len(lines)
    return {"characters": found, "come_back": same / count}


def split(names: Iterable[str]) -> tuple[list[str], dict[str, list[str]]]:
    """Return the lines to train on, and those in which tokens are counted."""
    texts = {name: (data_dir() / "corpora" / f"{name}.txt").read_text("utf-8") for name in names}
    held = {name: text[len(text) * 8 // 10 :][:HELD_OUT].splitlines() for name, text in texts.items()}
    return [line for text in texts.values() for line in text[: len(text) // 2].splitlines()], held


def measure(sizes: Iterable[int], lines: list[str], held: Mapping[str, list[str]]) -> list[dict[str, Any]]:
    """Train everything in turn."""
    trained: list[dict[str, Any]] = []
    for size in sizes:
        runs = {
            **{name: partial(ours, lines, size, settings) for name, settings in OURS.items()},
            **{name: partial(theirs, lines, size, model) for name, model in THEIRS.items()},
        }
        for name, run in runs.items():
            print(f"{name}, {size:,} entries", file=sys.stderr)
            started = process_time()
            encode, decode = run()
            seconds = process_time() - started
            trained.append({"name": name, "size": size, "seconds": seconds} | worth(encode, decode, held))
    return trained


def table(document: dict[str, Any]) -> str:
    """Write the results as Markdown, a table for each size."""
    heading = (
        f"Characters of a token in text that no trainer saw (more is better), processor seconds of training on "
        f"{document['megabytes']:.0f} MB of six corpora together, and how many lines come back as they were; "
        f"{report.on(document)}."
    )
    blocks: list[str | list[str]] = [heading]
    for size in dict.fromkeys(run["size"] for run in document["trained"]):
        runs = [run for run in document["trained"] if run["size"] == size]
        head = [f"{size:,} entries", *(LANGUAGES[name] for name in runs[0]["characters"]), "seconds", "come back"]
        rows = [
            [
                run["name"],
                *(f"{value:.2f}" for value in run["characters"].values()),
                f"{run['seconds']:.1f}",
                f"{run['come_back']:.0%}",
            ]
            for run in runs
        ]
        blocks.append(report.table(head, rows))
    return report.page(*blocks)


def draw(document: dict[str, Any]) -> str:
    """Draw the characters of a token of the largest vocabulary."""
    largest = max(run["size"] for run in document["trained"])
    values = {
        run["name"]: {LANGUAGES[name]: value for name, value in run["characters"].items()}
        for run in document["trained"]
        if run["size"] == largest
    }
    return chart.dots(f"Characters of a token, {largest:,} entries", values, "characters")


def main(*, short: bool) -> int:
    """Measure, write ``results/choosing.json``, ``.md`` and ``.svg``, and print the tables."""
    lines, held = split(LANGUAGES)
    if short:
        lines, held = lines[::40], {name: texts[:50] for name, texts in held.items()}
    trained = measure(SHORT if short else SIZES, lines, held)
    megabytes = sum(len(line.encode()) + 1 for line in lines) / 1e6
    report.tell("choosing", table, short=short, draw=draw, megabytes=megabytes, trained=trained)
    return 0
