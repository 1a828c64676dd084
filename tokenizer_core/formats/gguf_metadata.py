"""Read the metadata at the start of a GGUF file, without its tensors.

Layout: magic ``GGUF``, version (u32), number of tensors and of keys (u64 each), then each key with its type and value,
all little-endian; a string is its length (u64) and its bytes, an array its type (u32), its length (u64) and its values.

Read in order and not through a memory map, whose pages would kill the process if the file was cut short meanwhile. No
number of the file is believed: a length is held against what is left before anything of that size is made.
"""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path
from typing import Any, BinaryIO

from tokenizer_core.errors import InvalidArtifact, Unsupported
from tokenizer_core.formats import files

MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_MAX_KEYS = 1 << 16
_MAX_KEY_BYTES = 1 << 16
_MAX_VALUES = 1 << 23
"""Values of one array: twice as many as there can be ids, for the merges."""

_STRING, _ARRAY = 8, 9
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
"""The names of the types of numbers in ``struct``."""


def read(path: Path, prefixes: tuple[str, ...]) -> tuple[dict[str, Any], str]:
    """Return the values of the keys that begin with one of ``prefixes``, and the SHA-256 of the metadata.

    Raises:
        ArtifactNotFound: there is no such file.
        InvalidArtifact: ``invalid_file``, at the key.
        Unsupported: another version of GGUF, or an array of arrays.
    """
    with files.opened(path) as (file, size):
        reader = _Reader(file, size, path.name)
        return reader.metadata(prefixes), f"sha256:{reader.hasher.hexdigest()}"


class _Reader:
    """A place in the file, and how much may still be read."""

    def __init__(self, file: BinaryIO, size: int, name: str) -> None:
        self.file = file
        self.left = min(size, files.MAX_FILE_BYTES)
        self.place = name
        self.hasher = hashlib.sha256()

    def metadata(self, prefixes: tuple[str, ...]) -> dict[str, Any]:
        if self.take(4) != MAGIC:
            raise self.refuse("does not begin with GGUF")
        (version,) = self.numbers("I", 1)
        if version not in _VERSIONS:
            raise Unsupported(f"{self.place} is of version {version} of GGUF; 2 and 3 are read", field=self.place)
        _, keys = self.numbers("Q", 2)
        if keys > _MAX_KEYS:
            raise self.refuse(f"has {keys} keys; at most {_MAX_KEYS} are read")
        found: dict[str, Any] = {}
        seen = set()
        for _ in range(keys):
            key = self.key()
            if key in seen:
                raise self.refuse(f"has the key {key[:80]} twice")
            seen.add(key)
            file, self.place = self.place, key[:200]
            value = self.value(self.numbers("I", 1)[0], keep=key.startswith(prefixes))
            self.place = file
            if value is not None:
                found[key] = value
        return found

    def key(self) -> str:
        (length,) = self.numbers("Q", 1)
        if length > _MAX_KEY_BYTES:
            raise self.refuse(f"has a key of {length} bytes")
        return self.text(self.take(length))

    def value(self, kind: int, *, keep: bool) -> Any:
        """Read a value; what is not kept is read past, and is ``None``."""
        if kind == _STRING:
            data = self.string()
            return self.text(data) if keep else None
        if kind != _ARRAY:
            (number,) = self.numbers(self.number_type(kind), 1)
            return number if keep else None
        (inner,) = self.numbers("I", 1)
        (length,) = self.numbers("Q", 1)
        if inner == _ARRAY:
            raise Unsupported(f"{self.place} is an array of arrays", field=self.place)
        if length > _MAX_VALUES:
            raise self.refuse(f"has {length} values; at most {_MAX_VALUES} are read")
        if inner == _STRING:
            strings = (self.string() for _ in range(length))
            if keep:
                return [self.text(data) for data in strings]
            for _ in strings:
                pass
            return None
        values = self.numbers(self.number_type(inner), length)
        return list(values) if keep else None

    def number_type(self, kind: int) -> str:
        if kind not in _NUMBERS:
            raise self.refuse(f"has the type {kind}, which GGUF has not")
        return _NUMBERS[kind]

    def numbers(self, kind: str, count: int) -> tuple[Any, ...]:
        layout = struct.Struct(f"<{count}{kind}")
        return layout.unpack(self.take(layout.size))

    def string(self) -> bytes:
        (length,) = self.numbers("Q", 1)
        return self.take(length)

    def text(self, data: bytes) -> str:
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.refuse(f"is not UTF-8 at byte {error.start} of {data[:40]!r}") from None

    def take(self, count: int) -> bytes:
        data = self.file.read(count) if count <= self.left else b""
        if len(data) != count:
            raise self.refuse(f"needs {count} bytes, and the metadata has {self.left} left; the file is cut short")
        self.left -= count
        self.hasher.update(data)
        return data

    def refuse(self, why: str) -> InvalidArtifact:
        return InvalidArtifact(f"{self.place} {why}", field=self.place)
