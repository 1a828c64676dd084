"""Read a whole file: regular files of bounded size, and JSON without loss."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import stat
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from tokenizer_core.errors import ArtifactNotFound, InvalidArtifact, shown

MAX_FILE_BYTES = 256 << 20
"""No file may be larger: 37 times the ``tokenizer.json`` of Llama 3."""

_ENDINGS = (".json", ".tiktoken", ".txt", ".model", ".bpe", ".gguf")
"""Of files that hold a tokenizer; any other dot is part of a name, such as ``llama3.1``."""

_ALWAYS_CALLED = ("tokenizer.json", "vocab.json", "tekken.json", "tokenizer.model", "tiktoken.model")
"""Names that say nothing of the tokenizer: its directory's does."""

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,127}")
_DEVICES = {"con", "prn", "aux", "nul"} | {f"{kind}{digit}" for kind in ("com", "lpt") for digit in range(10)}


@contextmanager
def opened(path: Path, *, follow_links: bool = True, directory: int | None = None) -> Iterator[tuple[BinaryIO, int]]:
    """Open a regular file; yield it and its size.

    Args:
        directory: the descriptor that ``path`` is relative to.
        follow_links: ``False`` refuses a symbolic link in the last place of the path, without a gap between check
            and open.

    Raises:
        ArtifactNotFound: there is no such file.
        InvalidArtifact: it is a directory, a pipe, a link, or cannot be read.
    """
    # O_NONBLOCK: opening a pipe must not wait for its other end.
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow_links else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags, dir_fd=directory)
    except (FileNotFoundError, NotADirectoryError):
        missing = path.name if directory is not None else path
        raise ArtifactNotFound(f"there is no file {missing}", field=path.name) from None
    except (OSError, ValueError) as error:
        raise InvalidArtifact(f"{path.name} cannot be opened: {reason(error)}", field=path.name) from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise InvalidArtifact(f"{path.name} is not a regular file", field=path.name)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            yield file, status.st_size
    except OSError as error:
        raise InvalidArtifact(f"{path.name} cannot be read: {reason(error)}", field=path.name) from None
    finally:
        os.close(descriptor)


def read(path: Path, *, follow_links: bool = True, directory: int | None = None) -> bytes:
    """Read a regular file whole; the arguments and errors are those of ``opened``.

    Raises:
        InvalidArtifact: also where it is too large, or changes meanwhile.
    """
    with opened(path, follow_links=follow_links, directory=directory) as (file, size):
        if size > MAX_FILE_BYTES:
            raise InvalidArtifact(f"{path.name} has {size} bytes; at most {MAX_FILE_BYTES} are read", field=path.name)
        # A file may change after it was measured: not more than one byte too many is read.
        data = file.read(size + 1)
    if len(data) != size:
        raise InvalidArtifact(f"{path.name} changed while it was read; try again", field=path.name)
    return data


def read_start(path: Path, size: int) -> bytes:
    """Read at most the first ``size`` bytes of a regular file, however large it is."""
    with opened(path) as (file, _):
        return file.read(size)


def reason(error: OSError | ValueError) -> str:
    """Return what the system says, lower case like every message here."""
    said = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return said[:1].lower() + said[1:]


def read_optional(path: Path) -> bytes | None:
    """Read a regular file, or return ``None`` when there is nothing of that name."""
    return read(path) if os.path.lexists(path) else None


def sha256(data: bytes) -> str:
    """Return ``sha256:`` and 64 hexadecimal digits."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def origin(format: str, found: Mapping[str, bytes], **more: Any) -> dict[str, Any]:
    """Say for the provenance which files a tokenizer was read from."""
    hashes = {name: sha256(data) for name, data in sorted(found.items())}
    return {"imported_from": {"format": format, "files": hashes, **more}}


def is_hash(text: str) -> bool:
    """Tell whether a text is of the form of ``sha256``."""
    return re.fullmatch(r"sha256:[0-9a-f]{64}", text) is not None


def parse_json(data: bytes, field: str) -> Any:
    """Parse a small JSON file; duplicate keys, ``NaN``, lone surrogates and other encodings are refused.

    Raises:
        InvalidArtifact: ``invalid_file`` at ``field``.
    """

    def refuse(why: str) -> NoReturn:
        raise InvalidArtifact(f"{field} is not valid: {why}", field=field) from None

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(items)
        if len(values) != len(items):
            keys = [key for key, _ in items]
            refuse(f"the key {next(key for key in keys if keys.count(key) > 1)[:80]!r} stands twice")
        return values

    def number(text: str) -> float:
        value = float(text)
        if not math.isfinite(value):
            refuse(f"the number {text[:80]} is out of range")
        return value

    def constant(text: str) -> NoReturn:
        refuse(f"{text} is not JSON")

    try:
        text = data.decode("utf-8")
        value = json.loads(text, object_pairs_hook=pairs, parse_float=number, parse_constant=constant)
        # An escaped lone surrogate passes the parser, and no file could be written with it.
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        refuse("it is nested too deeply")
    except ValueError as error:
        refuse(str(error)[:200])
    return value


def same_json(one: object, other: object) -> bool:
    """Return whether two values are written alike: to Python 1, 1.0 and true are equal, in a file they are not."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def check_name(name: str) -> str:
    """Return ``name`` if an artifact may be called so.

    Raises:
        InvalidArtifact: ``invalid_name``.
    """
    given: object = name
    if (
        not isinstance(given, str)
        or _NAME.fullmatch(name) is None
        or unicodedata.normalize("NFC", name) != name
        or name.endswith(".")
        or name.split(".", 1)[0] in _DEVICES
    ):
        raise InvalidArtifact(
            "a name is 1 to 128 of the characters a-z, 0-9, '.', '_' and '-', begins with a letter or digit, does not "
            f"end in '.', and is not a device of Windows; {shown(name)} is not",
            code="invalid_name",
            field="name",
        )
    return name


def name_of_directory(path: Path) -> str:
    """Derive a name from a directory's, in which a dot ends nothing: ``Qwen2.5-7B`` becomes ``qwen2.5-7b``."""
    words = re.sub(r"[^a-z0-9._-]+", "-", path.absolute().name.lower())
    words = words.strip("._-")[:128].rstrip("._-")
    try:
        return check_name(words)
    except InvalidArtifact:
        return "tokenizer"


def name_of_file(path: Path) -> str:
    """Derive a name from a file's without the ending of its format, or from that of its directory."""
    path = path.absolute()
    if path.name in _ALWAYS_CALLED:
        return name_of_directory(path.parent)
    return name_of_directory(path.with_suffix("") if path.suffix.lower() in _ENDINGS else path)
