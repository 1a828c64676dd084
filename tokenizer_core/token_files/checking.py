"""Verify token files: hashes, counts, ids, borders, and that a sample of documents comes back from its text."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tokenizer_core.errors import HashMismatch, TokdError
from tokenizer_core.short_repr import ShortRepr
from tokenizer_core.token_files.layouts.layout import Shard
from tokenizer_core.token_files.manifest import TokenFiles, read_token_files
from tokenizer_core.tokenizer import Tokenizer

SAMPLE = 100
"""Documents that are decoded and encoded again."""

_WITHOUT_BORDERS = ("llmc", "nanogpt")
_WITHOUT_EMPTY = ("mds", "litdata")


@dataclass(frozen=True, slots=True, repr=False)
class TokenFilesReport(ShortRepr):
    """The findings of a check.

    Attributes:
        problems: what is wrong, with the file; empty if nothing is.
        documents, tokens: that were read.
        sampled: documents that were decoded and encoded again.
        has_borders: whether the files tell documents apart; without, none is encoded again.
    """

    files: TokenFiles
    problems: tuple[str, ...]
    documents: int
    tokens: int
    sampled: int
    has_borders: bool

    @property
    def ok(self) -> bool:
        return not self.problems


def check_token_files(
    path: str | Path, tokenizer: Tokenizer | None = None, *, sample: int = SAMPLE
) -> TokenFilesReport:
    """Read all token files of a directory and compare them with their manifest.

    Args:
        tokenizer: encodes a sample of documents again, whose ids must be the same.
        sample: how many, spread over each shard.

    Raises:
        InvalidCorpus: there is no manifest.
        HashMismatch: the files were written by another tokenizer.
    """
    files = read_token_files(Path(path))
    if tokenizer is not None and tokenizer.hash != files.tokenizer:
        raise HashMismatch(f"the files were written by the tokenizer {files.tokenizer}, not {tokenizer.hash}")
    checks = _Checks(files, tokenizer, sample)
    for shard in files.shards:
        checks.take(shard)
    # The sums differ too where a shard is damaged.
    if not checks.problems:
        if files.layout not in _WITHOUT_EMPTY and checks.documents != files.documents and checks.has_borders:
            checks.problems.append(f"{checks.documents} documents were read, not {files.documents}")
        if checks.ends != (wanted := checks.end_of_text["tokens"]):
            checks.problems.append(f"{checks.ends} end-of-text tokens were read, not {wanted}")
        if checks.tokens != files.tokens:
            checks.problems.append(f"{checks.tokens} tokens were read, not {files.tokens}")
    return TokenFilesReport(
        files, tuple(checks.problems), checks.documents, checks.tokens, checks.sampled, checks.has_borders
    )


class _Checks:
    def __init__(self, files: TokenFiles, tokenizer: Tokenizer | None, sample: int) -> None:
        self._files, self._tokenizer = files, tokenizer
        self._shape, self._eos = files.shape, files.manifest["eos"]
        # Of a chat, literals that its template wrote are tokens again.
        self._policy = "parse" if self._shape.is_labeled else files.manifest["special_tokens"]
        self.has_borders = files.layout not in _WITHOUT_BORDERS
        self._every = max(1, files.documents // max(1, sample))
        # A literal that a message has as text would be a token.
        is_ambiguous = self._shape.is_labeled and files.manifest["special_tokens"] == "text"
        # The ids of a pack are those of several texts.
        self._most = 0 if is_ambiguous or self._shape.is_packed else sample
        # Only packs are so described: of other documents each is looked at.
        self.end_of_text = files.manifest.get("end_of_text") or {"id": -1, "tokens": 0}
        self.problems: list[str] = []
        self.documents = self.tokens = self.sampled = self.ends = 0

    def take(self, shard: Shard) -> None:
        before = len(self.problems)
        for facts in shard.files.values():
            self._file(facts)
        if len(self.problems) > before:
            # A shard whose files are not as they were written is not read.
            return
        name = next(iter(shard.files.values()))["name"]
        documents = tokens = 0
        try:
            for ids in self._files.written_by.read(self._files.path, shard, self._shape):
                tokens += len(ids)
                self.ends += int(np.count_nonzero(ids == self.end_of_text["id"]))
                documents += self.has_borders
                self._ids(ids, name, documents)
        except (OSError, ValueError, LookupError) as error:
            self.problems.append(f"{name} cannot be read: {error}")
            return
        self.documents += documents if self.has_borders else shard.documents
        self.tokens += tokens
        if tokens != shard.tokens:
            self.problems.append(f"{name} has {tokens} tokens, not {shard.tokens}")
        if self.has_borders and documents != shard.documents:
            self.problems.append(f"{name} has {documents} documents, not {shard.documents}")

    def _file(self, facts: Any) -> None:
        path = self._files.path / facts["name"]
        try:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            self.problems.append(f"{facts['name']} cannot be read: {error.strerror}")
            return
        if digest != facts["sha256"]:
            self.problems.append(f"{facts['name']} is not the file that was written: its hash is {digest}")

    def _ids(self, ids: npt.NDArray[Any], name: str, document: int) -> None:
        if not len(ids):
            return
        limit = self._files.manifest["vocab_size"]
        if int(ids.max()) >= limit or int(ids.min()) < 0:
            self.problems.append(f"{name}: document {document} has an id that is not below {limit}")
            return
        if not self.has_borders:
            return
        eos, place = self._eos["id"], self._eos["place"]
        if eos is not None and ids[-1 if place == "after" else 0] != eos:
            self.problems.append(f"{name}: document {document} has no end-of-text token {place} it")
        elif self.sampled < self._most and document % self._every == 0 and self._tokenizer is not None:
            self.sampled += 1
            text = ids if eos is None else ids[:-1] if place == "after" else ids[1:]
            if not _comes_back(text.astype(np.uint32), self._tokenizer, self._policy):
                self.problems.append(f"{name}: document {document} has other ids when its text is encoded again")


def _comes_back(ids: npt.NDArray[np.uint32], tokenizer: Tokenizer, policy: Any) -> bool:
    try:
        again = tokenizer.encode(tokenizer.decode(ids), special_tokens=policy)
    except TokdError:
        return False
    return np.array_equal(ids, again)
