"""Encode a corpus into the files that Megatron-LM and NeMo train from."""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tokenizer_core.arguments import check_choice
from tokenizer_core.atomic_files import fresh_directory, sweep, sync_directory, write_new
from tokenizer_core.corpus.documents import Documents, documents
from tokenizer_core.corpus.files import Files, sources
from tokenizer_core.errors import InvalidCorpus, InvalidOption, TokdError
from tokenizer_core.tokenizer import SpecialTokens, Tokenizer

EndOfText = Literal["after", "before", "none"]

_UINT16_BELOW = 65_500
"""Megatron-LM's own limit of a vocabulary whose ids are written in two bytes."""

_CODES = {"uint16": 8, "int32": 4}
"""Megatron-LM's numbers of types."""

_LONGEST = 2**31
"""A document has fewer tokens: its length is an ``int32``."""


@dataclass(frozen=True, slots=True)
class TokenFiles:
    """What was written: ``tokens.bin``, ``tokens.idx`` and ``manifest.json`` in ``path``."""

    path: Path
    documents: int
    tokens: int
    dtype: str


def encode_corpus(
    corpus: str | os.PathLike[str] | Files,
    tokenizer: Tokenizer,
    out: str | os.PathLike[str],
    *,
    eos: EndOfText = "after",
    special_tokens: SpecialTokens = "reject",
    threads: int = 0,
) -> TokenFiles:
    """Encode every document of files, in the order of their names, into a new directory.

    The whole directory appears at once. About a megabyte of text is held at a time, or the longest document.

    Args:
        eos: where the tokenizer's end-of-text token stands: after each document, before it, or nowhere. An empty
            document has none.
        threads: 0 takes all cores; their number changes no byte.

    Raises:
        FileExistsError: something is at ``out``.
        InvalidOption: the tokenizer has no end-of-text token.
        CorpusError: with the file, and the line or the row.
    """
    check_choice(eos, EndOfText, "eos")
    place = Path(out)
    if os.path.lexists(place):
        raise FileExistsError(17, "it is there already", str(place))
    files = corpus if isinstance(corpus, Files) else Files(paths=(corpus,))
    if files.on_error == "skip":
        raise InvalidOption('encoding a corpus stops at an error; on_error="skip" is for training', field="corpus")
    end = None if eos == "none" else _end_of_text(tokenizer)
    found = sources(files)
    lengths = _Lengths("uint16" if tokenizer.vocab_size < _UINT16_BELOW else "int32")
    read: list[dict[str, str]] = []

    def ids() -> Iterator[bytes]:
        for source in found:
            stamp = source.stamp()
            for batch in documents(source, files):
                encoded = _encoded(batch, tokenizer, special_tokens, threads)
                yield lengths.take(*_with_end(*encoded, end, eos), batch)
            read.append({"name": source.name, "identity": source.identity(lambda: None)})
            if source.stamp() != stamp:
                raise InvalidCorpus(f"{source.name} changed while it was read", file=source.name)

    sweep(place.parent)
    with fresh_directory(place) as fresh:
        digests = {}
        for name, parts in (("tokens.bin", ids()), ("tokens.idx", lengths.index())):
            digest = hashlib.sha256()
            write_new(fresh / name, _hashed(parts, digest))
            digests[name] = f"sha256:{digest.hexdigest()}"
        manifest = {
            "format": "tokd tokens 1",
            "layout": "megatron",
            "tokenizer": tokenizer.hash,
            "vocab_size": tokenizer.vocab_size,
            "dtype": lengths.dtype,
            "eos": {"id": end, "place": eos},
            "special_tokens": special_tokens,
            "documents": lengths.documents,
            "tokens": lengths.tokens,
            "files": digests,
            "sources": read,
        }
        write_new(fresh / "manifest.json", [json.dumps(manifest, indent=2).encode() + b"\n"])
        sync_directory(fresh)
        fresh.rename(place)
    sync_directory(place.parent)
    return TokenFiles(place, lengths.documents, lengths.tokens, lengths.dtype)


class _Lengths:
    """The lengths of documents in tokens, of which the index is made."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype
        self.documents = self.tokens = 0
        self._parts: list[Any] = []

    def take(self, ids: Any, lengths: Any, batch: Documents) -> bytes:
        """Count documents, and return their ids as bytes.

        Raises:
            InvalidOption: an id does not fit.
        """
        if ids.size and (largest := int(ids.max())) > np.iinfo(self.dtype).max:
            raise InvalidOption(f"the id {largest} does not fit into {self.dtype}", field="tokenizer")
        for index in np.flatnonzero(lengths >= _LONGEST)[:1]:
            raise batch.invalid(int(index), f"it has {lengths[index]} tokens; a document has less than {_LONGEST}")
        self.documents += len(lengths)
        self.tokens += len(ids)
        self._parts.append(lengths.astype("<i4"))
        return bytes(ids.astype(np.dtype(self.dtype).newbyteorder("<")).tobytes())

    def index(self) -> Iterator[bytes]:
        """Write ``tokens.idx``: an empty document has no sequence, as in Megatron-LM."""
        lengths = np.concatenate([np.empty(0, "<i4"), *self._parts])
        sequences = lengths[lengths > 0]
        yield struct.pack("<9sQBQQ", b"MMIDIDX\0\0", 1, _CODES[self.dtype], len(sequences), len(lengths) + 1)
        yield sequences.tobytes()
        ends = np.cumsum(sequences, dtype="<i8")
        yield ((ends - sequences) * np.dtype(self.dtype).itemsize).astype("<i8").tobytes()
        yield np.concatenate([np.zeros(1, "<i8"), np.cumsum(lengths > 0, dtype="<i8")]).tobytes()


def _end_of_text(tokenizer: Tokenizer) -> int:
    literal = tokenizer.parts.settings.eos
    id = None if literal is None else tokenizer.special_tokens.get(literal)
    if id is None:
        raise InvalidOption('the tokenizer has no end-of-text token; eos="none" writes none', field="eos")
    return id


def _encoded(batch: Documents, tokenizer: Tokenizer, policy: SpecialTokens, threads: int) -> tuple[Any, Any]:
    try:
        encoded = tokenizer.encode_batch(batch.texts, special_tokens=policy, threads=threads)
    except TokdError as error:
        if "row" not in error.place:
            raise
        raise batch.invalid(error.place["row"], error.message, error.code) from error
    return encoded.ids, encoded.row_offsets


def _with_end(ids: Any, offsets: Any, end: int | None, eos: EndOfText) -> tuple[Any, Any]:
    lengths = np.diff(offsets)
    if end is None:
        return ids, lengths
    places = offsets[1:] if eos == "after" else offsets[:-1]
    return np.insert(ids, places[lengths > 0], end), lengths + (lengths > 0)


def _hashed(parts: Iterator[bytes], digest: Any) -> Iterator[bytes]:
    for part in parts:
        digest.update(part)
        yield part
