"""Tell formats apart by content: which file of a directory is read, by which reader, and what a foreign file is."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from tokenizer_core.errors import InvalidArtifact, Unsupported
from tokenizer_core.formats import files, sentencepiece
from tokenizer_core.formats.known_ranks import DIRECTORY_FILES

Format = Literal["huggingface", "tiktoken", "vocab_merges", "tekken", "sentencepiece", "gguf", "vocab_txt"]
FORMATS: tuple[Format, ...] = get_args(Format)

_START = 4096
"""Bytes of a file that are looked at."""

_VOCAB_JSON = re.compile(rb'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*[0-9]')
"""An object whose first value is an id."""

_TEKKEN = re.compile(rb'"(?:default_vocab_size|token_bytes)"\s*:')
"""A key that no other format has near its start."""

_RANK_LINE = re.compile(rb"[A-Za-z0-9+/]+={0,2} [0-9]+\r?\n?")

_WORDPIECE = re.compile(rb"(?:^|\n)\[(?:UNK|PAD)\]\r?\n")
_RWKV = re.compile(rb"""[0-9]+ b?['"].*['"] [0-9]+\r?\n""")

_FOREIGN = ((_RWKV, "the vocabulary of RWKV World"),)
"""Families that are recognised, so that the refusal has a name."""

_FOREIGN_FILES = ("vocab.txt",)

VOCAB = "vocab.json"


@dataclass(frozen=True, slots=True)
class Source:
    """The recognised content of a path.

    Attributes:
        format: an artifact, or which reader takes it.
        path: what the reader is given.
        passed_over: names of files in the same directory that hold a tokenizer too and were not read.
    """

    format: Format | Literal["artifact"]
    path: Path
    passed_over: tuple[str, ...] = ()


def recognise(path: Path) -> Source:
    """Tell the format of a file or directory; what is not certain is an error, never a guess.

    Raises:
        ArtifactNotFound: there is nothing at this place.
        InvalidArtifact: ``unknown_format``; or the file cannot be read.
        Unsupported: a family of tokenizers that is known and not supported, by name.
    """
    # os.path, because Path.is_dir raises where a name is too long or a directory cannot be searched.
    if os.path.isdir(path):  # noqa: PTH112
        return _in_directory(path)
    if path.name == VOCAB and (pair := _pair_in(path.parent)) is not None:
        return pair
    return Source(_of_file(path), path)


def _in_directory(path: Path) -> Source:
    """Choose what the model's own library would read; conversions of it for other libraries come behind."""
    if _is_there(path / "manifest.json"):
        return Source("artifact", path)
    found: list[tuple[str, Source]] = []
    if _is_there(path / "tekken.json"):
        found.append(("tekken.json", Source("tekken", path)))
    if _is_there(path / "tokenizer.json"):
        found.append(("tokenizer.json", Source("huggingface", path)))
    for name in DIRECTORY_FILES:
        if _is_there(path / name) and _RANK_LINE.match(files.read_start(path / name, _START)):
            found.append((name, Source("tiktoken", path / name)))
    for name in sentencepiece.NAMES:
        if _is_there(path / name) and _is_sentencepiece(files.read_start(path / name, _START)):
            found.append((name, Source("sentencepiece", path / name)))
    if (pair := _pair_in(path)) is not None:
        found.append((VOCAB, pair))
    if _is_there(path / "vocab.txt") and _WORDPIECE.search(files.read_start(path / "vocab.txt", _START)):
        found.append(("vocab.txt", Source("vocab_txt", path / "vocab.txt")))
    if found:
        names = tuple(name for name, _ in found[1:])
        return Source(found[0][1].format, found[0][1].path, names)
    if weights := sorted(path.glob("*.gguf")):
        if len(weights) > 1:
            raise InvalidArtifact(
                f"{path} holds {len(weights)} GGUF files; name one of them", code="unknown_format", field=path.name
            )
        return Source("gguf", weights[0])
    for name in _FOREIGN_FILES:
        if _is_there(path / name):
            return Source(_of_file(path / name), path / name)
    raise InvalidArtifact(
        f"{path} holds none of tekken.json, tokenizer.json, a SentencePiece model or rank file of a known name, "
        "vocab.json with merges.txt, vocab.txt, and a GGUF file; name the file",
        code="unknown_format",
        field=path.name,
    )


def _pair_in(path: Path) -> Source | None:
    """Recognise ``vocab.json`` with ``merges.txt``."""
    if not (_is_there(path / VOCAB) and _is_there(path / "merges.txt")):
        return None
    # The files beside them name the class and the special entries: they are not passed over.
    describing = ("tokenizer_config.json", "special_tokens_map.json", "config.json")
    described = any(_is_there(path / name) for name in describing)
    return Source("huggingface" if described else "vocab_merges", path)


def _is_there(path: Path) -> bool:
    return os.path.exists(path)  # noqa: PTH110  Path.exists raises where a directory cannot be searched


def _is_sentencepiece(start: bytes) -> bool:
    """Tell whether the first field is a message whose first field is a text in it: the first piece of a model."""
    return len(start) > 4 and start[0] == start[2] == 0x0A and 0 < start[3] <= start[1] - 2 < 0x80


def _of_file(path: Path) -> Format:
    start = files.read_start(path, _START)
    if start.startswith(b"GGUF"):
        return "gguf"
    if _VOCAB_JSON.match(start):
        raise InvalidArtifact(
            f"{path} is a vocabulary without its merges; name its directory, or vocab.json and merges.txt",
            code="unknown_format",
            field=path.name,
        )
    if start.lstrip().startswith(b"{"):
        return "tekken" if _TEKKEN.search(start) else "huggingface"
    if _is_sentencepiece(start):
        return "sentencepiece"
    if _RANK_LINE.fullmatch(start.splitlines(keepends=True)[0] if start else b""):
        return "tiktoken"
    if _WORDPIECE.search(start):
        return "vocab_txt"
    for sign, family in _FOREIGN:
        if sign.match(start):
            raise Unsupported(
                f"{path} is {family}, which is not supported yet; use its tokenizer.json if that is byte-level BPE",
                field=path.name,
            )
    raise InvalidArtifact(
        f"{path} is neither JSON, a SentencePiece model nor a rank file; say what it is with --format "
        f"{'|'.join(FORMATS)}",
        code="unknown_format",
        field=path.name,
    )
