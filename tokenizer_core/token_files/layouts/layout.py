"""The interface of a layout of token files: it turns documents into files, and files into documents again."""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
import numpy.typing as npt

from tokenizer_core.padding import IGNORED

Dtype = Literal["uint16", "int32", "uint32", "int64"]
EosPlace = Literal["after", "before", "none"]

Lengths = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Shape:
    """The common properties of the files of a run.

    Attributes:
        tokenizer: its name, where a layout writes one.
        eos: the id at the border of documents, or ``None``.
        is_labeled: whether the files say which ids are trained on.
        is_packed: whether the files say of which members a document is made.
    """

    dtype: Dtype
    tokenizer: str
    eos: int | None
    is_labeled: bool = False
    is_packed: bool = False

    @property
    def item(self) -> int:
        """Bytes of an id."""
        return np.dtype(self.dtype).itemsize

    @property
    def stored(self) -> np.dtype[Any]:
        """The type in the files: little-endian on any machine."""
        return np.dtype(self.dtype).newbyteorder("<")

    @property
    def label_dtype(self) -> Dtype:
        """The type of labels, which holds every id and ``IGNORED``."""
        return "int32" if self.dtype in ("uint16", "int32") else "int64"

    def labels(self, ids: bytes, trained: bytes) -> bytes:
        """Return the ids that are trained on and ``IGNORED`` elsewhere, as ``label_dtype``, without a shift."""
        values = np.frombuffer(ids, self.stored).astype(np.dtype(self.label_dtype).newbyteorder("<"))
        values[np.frombuffer(trained, np.bool_) == 0] = IGNORED
        return values.tobytes()


@dataclass(frozen=True, slots=True)
class Batch:
    """Encoded documents.

    Attributes:
        ids: of all documents, as the bytes of ``Shape.stored``.
        lengths: ids of each document.
        origins: shape (n, 2): which source of the part a document is from, and its number among those.
        trained: of all documents, one byte an id: 1 where it is trained on; empty unless ``Shape.is_labeled``.
        members: of each document the lengths of its members, as the bytes of ``int32``; empty unless
            ``Shape.is_packed``.
    """

    ids: bytes
    lengths: Lengths
    origins: npt.NDArray[np.int64]
    trained: bytes = b""
    members: Sequence[bytes] = ()

    def part(self, first: int, last: int, item: int) -> Batch:
        """Return documents ``first`` to ``last``, without the last; ``item`` is the bytes of an id."""
        start, end = int(self.lengths[:first].sum()), int(self.lengths[:last].sum())
        return Batch(
            self.ids[start * item : end * item],
            self.lengths[first:last],
            self.origins[first:last],
            self.trained[start:end],
            self.members[first:last],
        )


@dataclass(slots=True)
class Piece:
    """One shard: a file, or several of one name.

    Attributes:
        files: by suffix, what ``Output.close`` returns.
    """

    documents: int = 0
    tokens: int = 0
    files: dict[str, dict[str, Any]] = field(default_factory=dict)


class Output(Protocol):
    """A file that is being written."""

    def write(self, data: bytes) -> None:
        """Append."""

    def reserve(self, size: int) -> None:
        """Leave room at the beginning for ``patch``."""

    def patch(self, data: bytes) -> None:
        """Write at the beginning, into the room left there."""

    def close(self) -> None:
        """Wait until it is on the disk, and note its size and hash in its piece."""


class OutputFile(io.RawIOBase):
    """An output as the file that another library writes to."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._at = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def write(self, data: Any) -> int:
        self._output.write(bytes(data))
        self._at += len(data)
        return len(data)


class Outputs(Protocol):
    """The files of one part."""

    sources: list[str]
    """The names of the files that the documents are from."""

    def piece(self) -> Piece:
        """Begin the next shard."""

    def open(self, piece: Piece, suffix: str) -> Output:
        """Make a file of a shard."""


class Sink(ABC):
    """Writes the documents of one part."""

    def __init__(self, outputs: Outputs, shape: Shape) -> None:
        self.outputs = outputs
        self.shape = shape

    @abstractmethod
    def take(self, batch: Batch) -> None:
        """Write documents."""

    @abstractmethod
    def finish(self) -> None:
        """Write what is left, and close all files."""


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard at its place.

    Attributes:
        files: by suffix: ``name``, ``bytes``, ``sha256``.
    """

    documents: int
    tokens: int
    files: Mapping[str, Mapping[str, Any]]


class Layout(ABC):
    """One format of token files."""

    eos: ClassVar[EosPlace] = "after"
    """The place where its trainer expects the end-of-text token."""

    dtypes: ClassVar[tuple[Dtype, ...]] = ("uint16", "uint32", "int32", "int64")
    is_one_file: ClassVar[bool] = False
    """True if all shards are joined in the end."""

    names: ClassVar[str]
    """The names of files, by ``number``, ``total`` and ``suffix``."""

    def dtype(self, vocab_size: int) -> Dtype:
        """Return the smallest type that the trainer expects for a vocabulary."""
        return "uint16" if vocab_size <= 1 << 16 else self.dtypes[1]

    def longest(self, shape: Shape) -> int:
        """Return how many ids a document has at most."""
        del shape
        return 2**31 - 1

    @abstractmethod
    def sink(self, outputs: Outputs, shape: Shape) -> Sink:
        """Begin the files of a part."""

    def name(self, number: int, total: int, suffix: str) -> str:
        """Return the name of a file of shard ``number`` of ``total``."""
        return self.names.format(number=number, total=total, suffix=suffix)

    def index(self, shards: Sequence[Shard], shape: Shape) -> dict[str, bytes]:
        """Return what is written beside the shards."""
        del shards, shape
        return {}

    @abstractmethod
    def read(self, folder: Path, shard: Shard, shape: Shape) -> Iterator[npt.NDArray[Any]]:
        """Read the ids of a shard: a document each, or where the files have no borders as many as are read at once."""


class FlatSink(Sink):
    """Writes ids end to end into one file, and notes the lengths of the documents."""

    mask_suffix: ClassVar[str] = ".mask"
    """Of the file beside it that says which ids are trained on: one byte an id, 1 or 0."""

    members_suffix: ClassVar[str | None] = ".seq_lengths"
    """Of the file beside it that has the lengths of all members, or ``None`` if the format has a place for them."""

    def __init__(self, outputs: Outputs, shape: Shape, suffix: str) -> None:
        super().__init__(outputs, shape)
        self.piece = outputs.piece()
        self.file = outputs.open(self.piece, suffix)
        self._mask = outputs.open(self.piece, self.mask_suffix) if shape.is_labeled else None
        beside = self.members_suffix if shape.is_packed else None
        self._beside = None if beside is None else outputs.open(self.piece, beside)
        self._lengths: list[Lengths] = []

    def take(self, batch: Batch) -> None:
        self.file.write(batch.ids)
        if self._mask is not None:
            self._mask.write(batch.trained)
        if self._beside is not None:
            self._beside.write(b"".join(batch.members))
        self.piece.documents += len(batch.lengths)
        self.piece.tokens += int(batch.lengths.sum())
        self._lengths.append(batch.lengths)

    def lengths(self) -> Lengths:
        """Return those of all documents."""
        return np.concatenate([np.empty(0, np.int64), *self._lengths])

    def finish(self) -> None:
        self.file.close()
        if self._mask is not None:
            self._mask.close()
        if self._beside is not None:
            self._beside.close()


def ids_of(path: Path, shape: Shape, skip: int = 0) -> npt.NDArray[Any]:
    """Map a file of ids into memory, without its first ``skip`` bytes."""
    count = (path.stat().st_size - skip) // shape.item
    if not count:
        return np.empty(0, shape.stored)
    return np.memmap(path, shape.stored, "r", skip, (count,))


def in_blocks(ids: npt.NDArray[Any], size: int = 1 << 20) -> Iterator[npt.NDArray[Any]]:
    """Give ids without borders some at a time."""
    for start in range(0, len(ids), size):
        yield ids[start : start + size]


def by_ends(ids: npt.NDArray[Any], ends: npt.NDArray[Any]) -> Iterator[npt.NDArray[Any]]:
    """Give the ids of each document by where it ends."""
    start = 0
    for end in ends.tolist():
        yield ids[start:end]
        start = end
