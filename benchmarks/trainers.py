"""Train with one trainer in this fresh process, in the peers' own environment.

A corpus is a text file whose documents are separated by ``<|endoftext|>``. Time is that of training alone, memory the
peak of the process.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.openers import byte_of_character

SEPARATOR = "<|endoftext|>"
BLOCK = 1 << 20

Merges = Iterable[tuple[bytes, bytes]]


@dataclass(frozen=True)
class Trainer:
    """One trainer: what Python and pip call it, how it trains, and its merges where they compare with others'."""

    module: str
    package: str | None
    train: Callable[[Path, int], Any]
    merges: Callable[[Any], Merges] | None = None


def documents(path: Path) -> Iterator[str]:
    """Read one document after the other."""
    rest = ""
    with path.open(encoding="utf-8", newline="") as file:
        while block := file.read(BLOCK):
            *whole, rest = (rest + block).split(SEPARATOR)
            yield from whole
    yield rest


def train_tokd(path: Path, vocab_size: int) -> Any:
    """Train with this project, by Hugging Face's order of ties."""
    from tokenizer_core import train

    return train(path, vocab_size + 1, pattern="gpt2", special_tokens=[SEPARATOR], tie_break="lowest_ids")


def train_tokenizers(path: Path, vocab_size: int) -> Any:
    """Train with Hugging Face tokenizers."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=vocab_size, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(documents(path), trainer)
    return tokenizer


def merges_of_tokenizers(tokenizer: Any) -> Merges:
    """List the merges as bytes."""
    table = byte_of_character()
    for left, right in json.loads(tokenizer.to_str())["model"]["merges"]:
        yield bytes(map(table.__getitem__, left)), bytes(map(table.__getitem__, right))


def train_gigatoken(path: Path, vocab_size: int) -> Any:
    """Train with gigatoken, which reads the file itself."""
    import gigatoken

    source = gigatoken.TextFileSource([str(path)], separator=SEPARATOR)
    return gigatoken.train_bpe(source, vocab_size + 1, [SEPARATOR])


def train_rustbpe(path: Path, vocab_size: int) -> Any:
    """Train with rustbpe, on the pattern of the others."""
    import rustbpe

    pattern = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    tokenizer = rustbpe.Tokenizer()
    tokenizer.train_from_iterator(documents(path), vocab_size, pattern=pattern)
    return tokenizer


def train_sentencepiece(path: Path, vocab_size: int) -> Any:
    """Train with sentencepiece, whose words and alphabet are others."""
    import sentencepiece

    with tempfile.TemporaryDirectory() as folder:
        sentencepiece.SentencePieceTrainer.train(
            input=str(path),
            model_prefix=str(Path(folder) / "model"),
            model_type="bpe",
            vocab_size=vocab_size,
            byte_fallback=True,
            max_sentence_length=1 << 30,
            num_threads=2,
            minloglevel=2,
            hard_vocab_limit=False,
        )


TRAINERS = {
    "tokd": Trainer("tokenizer_core", None, train_tokd, lambda tokenizer: tokenizer.merges),
    "tokenizers": Trainer("tokenizers", "tokenizers", train_tokenizers, merges_of_tokenizers),
    "gigatoken": Trainer("gigatoken", "gigatoken", train_gigatoken, lambda answer: answer[1]),
    "rustbpe": Trainer("rustbpe", "rustbpe", train_rustbpe),
    "sentencepiece": Trainer("sentencepiece", "sentencepiece", train_sentencepiece),
}


def proof(merges: Merges) -> str:
    """Hash merges."""
    digest = hashlib.sha256()
    for left, right in merges:
        digest.update(b"%d %s%d %s" % (len(left), left, len(right), right))
    return digest.hexdigest()


def measured(module: str, package: str | None, train: Callable[[], Any]) -> tuple[Any, dict[str, Any]]:
    """Train once; return what was learned, and what it took."""
    import_module(module)
    start, cpu = time.perf_counter(), time.process_time()
    answer = train()
    return answer, {
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - cpu,
        "megabytes": machine.memory(),
        "version": metadata.version(package) if package else "this",
    }


def work(name: str, path: str, vocab_size: str) -> dict[str, Any]:
    """Train once."""
    one = TRAINERS[name]
    answer, line = measured(one.module, one.package, lambda: one.train(Path(path), int(vocab_size)))
    return line | {"proof": proof(one.merges(answer)) if one.merges else None}
