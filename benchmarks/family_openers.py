"""How each library opens a tokenizer of another family, from one file at hand.

Nothing heavy is imported before a library is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Encoder:
    """What one library does.

    Attributes:
        encode: ids of one text, in whatever the library gives.
        ids_of: turns an answer of ``encode`` into integers; not timed.
        encode_all: ids of many texts in one call, if the library has one.
        rows_of: turns an answer of ``encode_all`` into the integers of all rows; not timed.
    """

    encode: Callable[[str], Any]
    ids_of: Callable[[Any], Iterable[int]] = iter
    encode_all: Callable[[Sequence[str]], Any] | None = None
    rows_of: Callable[[Any], Iterable[int]] = iter


def _tokd(path: Path) -> Encoder:
    from tokenizer_core import Tokenizer

    tok = Tokenizer.load(path)
    return Encoder(
        encode=lambda text: tok.encode(text, special_tokens="parse"),
        encode_all=lambda texts: tok.encode_batch(texts, special_tokens="parse", threads=1),
        rows_of=lambda answer: answer.ids,
    )


def _tokenizers(path: Path) -> Encoder:
    import tokenizers

    tok = tokenizers.Tokenizer.from_file(str(path))
    return Encoder(
        encode=lambda text: tok.encode(text, add_special_tokens=False),
        ids_of=lambda answer: answer.ids,
        encode_all=lambda texts: tok.encode_batch(texts, add_special_tokens=False),
        rows_of=lambda answer: (id for row in answer for id in row.ids),
    )


def _sentencepiece(path: Path) -> Encoder:
    import sentencepiece

    tok = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return Encoder(
        encode=tok.encode,
        encode_all=lambda texts: tok.encode(texts, num_threads=1),
        rows_of=lambda answer: (id for row in answer for id in row),
    )


def _kitoken(path: Path) -> Encoder:
    import kitoken

    is_model = path.suffix == ".model"
    open_file = kitoken.Kitoken.from_sentencepiece_file if is_model else kitoken.Kitoken.from_tokenizers_file
    tok = open_file(str(path))
    return Encoder(
        encode=lambda text: tok.encode(text, True),
        encode_all=lambda texts: tok.encode_all(texts, True),
        rows_of=lambda answer: (id for row in answer for id in row),
    )


def _gigatoken(path: Path) -> Encoder:
    from gigatoken import Tokenizer

    tok = Tokenizer(str(path))
    return Encoder(
        encode=tok.encode,
        encode_all=tok.encode_batch,
        rows_of=lambda answer: (id for row in answer.to_list() for id in row),
    )


@dataclass(frozen=True)
class Library:
    """One library: what pip calls it, and how it opens a file."""

    package: str | None
    open: Callable[[Path], Encoder]


LIBRARIES = {
    "tokd": Library(None, _tokd),
    "tokenizers": Library("tokenizers", _tokenizers),
    "sentencepiece": Library("sentencepiece", _sentencepiece),
    "kitoken": Library("kitoken", _kitoken),
    "gigatoken": Library("gigatoken", _gigatoken),
}
"""Every library, by its name in the table."""


@dataclass(frozen=True)
class Family:
    """One tokenizer: its file in the folder of data, who opens it, and whose ids are right."""

    file: str
    libraries: tuple[str, ...]
    truth: str


_MODELS = ("tokd", "sentencepiece", "kitoken")
_CHARACTERS = ("tokd", "tokenizers", "kitoken", "gigatoken")

FAMILIES = {
    "WordPiece": Family(
        "families/hf-wordpiece-uncased/tokenizer.json", ("tokd", "tokenizers", "kitoken"), "tokenizers"
    ),
    "Unigram": Family("families/spm-unigram-nmt_nfkc/tokenizer.model", _MODELS, "sentencepiece"),
    "Mistral 7B": Family("families/mistral-spm-v1/tokenizer.model", _MODELS, "sentencepiece"),
    "Llama 2": Family("families/hf-bpe-llama2/tokenizer.json", _CHARACTERS, "tokenizers"),
    "Gemma": Family("families/hf-bpe-gemma/tokenizer.json", _CHARACTERS, "tokenizers"),
}
"""What is measured."""
