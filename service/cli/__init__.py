"""The ``tokd`` command: one file a subcommand, each with ``add`` (its options) and ``run`` (its work).

Exit status: 0 done, 1 failed, 2 the command line is wrong, 130 interrupted, 141 the reader of the output went away.
An error is one line on standard error: ``tokd: error: <code>: <message>``.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from service.cli import (
    bench,
    check,
    decode,
    encode,
    export_artifact,
    import_artifact,
    inspect,
    key,
    serve,
    train,
    worker,
)
from service.cli.options import Parser
from service.cli.streams import CommandError, excerpt, forget_output, note, reason, write_line
from tokenizer_core import TokdError

COMMANDS = (serve, worker, encode, decode, import_artifact, export_artifact, inspect, check, key, train, bench)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    try:
        args = _parser().parse_args(argv)
        status: int = args.run(args)
        return status
    except CommandError as error:
        return _fail(error.code, error.message, error.status)
    except TokdError as error:
        return _fail(error.code, _with_place(error), 1)
    except BrokenPipeError:
        forget_output()
        return 141
    except OSError as error:
        return _fail("io_error", f"{error.filename}: {reason(error)}" if error.filename else reason(error), 1)
    except KeyboardInterrupt:
        return 130


def _parser() -> Parser:
    parser = Parser(
        prog="tokd",
        description="Text to token ids and back, exactly as the model's own tokenizer does.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    for command in COMMANDS:
        command.add(commands)
    return parser


class _Version(argparse.Action):
    """Print the version; the module that has it is imported only now, since it brings the web framework with it."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from tokenizer_core import VERSION

        write_line(f"tokd {VERSION}")
        parser.exit()


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
