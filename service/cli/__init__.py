"""The ``tokd`` command: one file a subcommand, each with ``add`` (its options) and ``run`` (its work).

Exit status: 0 done, 1 failed, 2 the command line is wrong, 130 interrupted, 141 the reader of the output went away.
An error is one line on standard error: ``tokd: error: <code>: <message>``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from service.cli.command_line import COMMANDS, make_parser
from service.cli.streams import CommandError, excerpt, forget, note, reason
from tokenizer_core import TokdError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    argv = sys.argv[1:] if argv is None else argv
    try:
        # Only the command that is named is imported, or else all.
        args = make_parser(COMMANDS.keys() & argv[:1] or COMMANDS).parse_args(argv)
        status: int = args.run(args)
        return status
    except CommandError as error:
        return _fail(error.code, error.message, error.status)
    except TokdError as error:
        return _fail(error.code, _with_place(error), 1)
    except BrokenPipeError:
        forget(sys.stdout)
        return 141
    except OSError as error:
        return _fail("io_error", f"{error.filename}: {reason(error)}" if error.filename else reason(error), 1)
    except KeyboardInterrupt:
        return 130


def _with_place(error: TokdError) -> str:
    """Put the field before the message, and the index or the span behind it."""
    message, place = error.message, error.place
    if "index" in place:
        message += f" (index {place['index']})"
    if "span" in place:
        start, end = place["span"]
        message += f" ({place['unit']} {start} to {end})"
    field = str(place.get("field", ""))
    return message if field in message else f"{excerpt(field)}: {message}"


def _fail(code: str, message: str, status: int) -> int:
    note(f"tokd: error: {code}: {message}")
    return status
