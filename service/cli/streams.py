"""Standard input, output and files of the command: bytes in, bytes out, UTF-8 in every locale."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO


class CommandError(Exception):
    """End the command with one line on standard error.

    Args:
        code: a stable name, as in the errors of ``tokenizer_core``.
        message: lower case, no full stop; says the way out.
        status: 2 for a wrong command line, 1 for everything else.
    """

    def __init__(self, code: str, message: str, *, status: int = 1) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status


def usage(message: str) -> CommandError:
    """Say that the command line is wrong."""
    return CommandError("usage", message, status=2)


def argument_text(argument: str) -> str:
    """Return a command-line argument as text.

    Python hides bytes that are not UTF-8 in lone surrogates; here they are named.
    """
    return decode_utf8(os.fsencode(argument), "the text argument")


def decode_utf8(data: bytes, source: str) -> str:
    """Decode bytes; an error names the first wrong byte and its position."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise CommandError(
            "invalid_unicode",
            f"{source} is not UTF-8: byte 0x{data[error.start]:02X} at {error.start} ({error.reason})",
        ) from None


def read_input(file: str | None) -> tuple[bytes, str]:
    """Read a file, or standard input for ``None`` and ``-``; the bytes and what to call them in an error."""
    if file is not None and file != "-":
        return read_file(file), file
    if sys.stdin is None:
        raise CommandError("no_input", "standard input is closed; give a text or --file")
    if sys.stdin.isatty():
        note("reading standard input; end with Ctrl-D")
    try:
        return sys.stdin.buffer.read(), "standard input"
    except OSError as error:
        raise CommandError("unreadable_file", f"standard input: {reason(error)}") from None


def read_file(file: str) -> bytes:
    """Read a file whole."""
    if not file:
        raise CommandError("unreadable_file", "the name of a file is empty")
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise CommandError("unreadable_file", f"{file}: {reason(error)}") from None
    except ValueError:
        raise CommandError("unreadable_file", f"{file!r}: the name holds a NUL character") from None


def write(data: bytes) -> None:
    """Write bytes to standard output and hand them on at once, so that a failure is seen here."""
    if sys.stdout is None:
        raise CommandError("unwritable_output", "standard output is closed")
    # Unbuffered, as with PYTHONUNBUFFERED, the stream takes what there is room for and says how much that was.
    take: Callable[[memoryview], int | None] = sys.stdout.buffer.write
    rest = memoryview(data)
    try:
        while rest:
            taken = take(rest)
            if taken is None:
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
            rest = rest[taken:]
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        forget(sys.stdout)
        raise CommandError("unwritable_output", f"standard output: {reason(error)}") from None


def write_line(text: str) -> None:
    """Write one line of text as UTF-8; a lone surrogate, as in paths that are not UTF-8, is escaped."""
    write(text.encode(errors="backslashreplace") + b"\n")


def write_json(value: Any) -> None:
    """Write a value as one line of JSON, ASCII only."""
    write_line(json.dumps(value, allow_nan=False))


def write_result(value: Any, text: str, *, as_json: bool) -> None:
    """Write what a command found: the value as JSON, or the text for people."""
    if as_json:
        write_json(value)
    else:
        write_line(text)


def note(text: str) -> None:
    """Write one line to standard error, if there is one that can be written to: no command fails for want of it."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.buffer.write(printable(text).encode() + b"\n")
        sys.stderr.flush()
    except OSError:
        forget(sys.stderr)


def counted(number: int, noun: str) -> str:
    """Say how many there are: ``1 row``, ``2 rows``."""
    return f"{number:,} {noun if number == 1 else f'{noun}s'}"


def printable(text: str) -> str:
    """Return the text with escapes for what is not to be shown: line breaks, terminal sequences, lone surrogates."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def excerpt(text: str, most: int = 80) -> str:
    """Return the text, cut if it is long."""
    return text if len(text) <= most else f"{text[:most]}…"


def forget(stream: TextIO | None) -> None:
    """Point a standard stream at nothing: the interpreter flushes it once more at exit and would fail again."""
    if stream is not None:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)


def reason(error: OSError) -> str:
    """Return what the system says, lower case like every message here."""
    said = error.strerror or str(error)
    return said[:1].lower() + said[1:]


def require_absent(path: Path) -> None:
    """Refuse to write where something is: no command replaces or removes anything."""
    if os.path.lexists(path):
        raise CommandError("output_exists", f"{path} is there already; remove it or name another place")


def require_writable(path: Path, *, makes_parents: bool = False) -> None:
    """Refuse before any work a place that its result could not be written to.

    A file without a name is made where the result will lie, as rights alone do not tell of a file system that is
    read-only; it is gone at once, and a run that fails later has left nothing.

    Args:
        makes_parents: the directories above are made when the result is written.
    """
    directory = path.parent
    while makes_parents and not os.path.lexists(directory):
        directory = directory.parent
    try:
        with suppress(FileNotFoundError):
            # Tells of a name that is too long.
            path.lstat()
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        way = "" if os.path.lexists(directory) else f"; make the directory {directory}"
        raise CommandError("unwritable_output", f"{path}: {reason(error)}{way}") from None


def create(path: Path, content: bytes | Mapping[str, bytes]) -> None:
    """Write a file, or a directory of files, that is not there yet: all of it appears at once, or nothing."""
    require_absent(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        if isinstance(content, bytes):
            temporary.write_bytes(content)
        else:
            temporary.mkdir()
            for name, data in content.items():
                (temporary / name).write_bytes(data)
        temporary.rename(path)
    except OSError as error:
        raise CommandError("unwritable_output", f"{path}: {reason(error)}") from None
    finally:
        if temporary.is_dir():
            shutil.rmtree(temporary, ignore_errors=True)
        else:
            # It may not exist, or not even be a possible name; the error to report is why it could not be made.
            with suppress(OSError):
                temporary.unlink()


def write_report(folder: Path, files: Mapping[str, str]) -> None:
    """Write the files of a report into a folder: all at once, or in the place of those of an earlier one."""
    try:
        if not os.path.lexists(folder):
            folder.parent.mkdir(parents=True, exist_ok=True)
            create(folder, {name: text.encode() for name, text in files.items()})
            return
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandError("unwritable_output", f"{folder}: {reason(error)}") from None
