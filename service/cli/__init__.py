"""The ``tokd`` command: one file a subcommand, each with ``add`` (its options) and ``run`` (its work).

Exit status: 0 done, 1 failed, 2 the command line is wrong, 130 interrupted, 141 the reader of the output went away.
An error is one line on standard error: ``tokd: error: <code>: <message>``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from service.cli.options import Parser
from service.cli.streams import CommandError, excerpt, forget, note, reason, write_line
from tokenizer_core import VERSION, TokdError

COMMANDS = {
    "serve": "serve",
    "worker": "worker",
    "encode": "encode",
    "encode-corpus": "encode_corpus",
    "pack": "pack",
    "decode": "decode",
    "import": "import_artifact",
    "export": "export_artifact",
    "inspect": "inspect",
    "check": "check",
    "verify": "verify",
    "key": "key",
    "train": "train",
    "bench": "bench",
}
"""The module of every command."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    argv = sys.argv[1:] if argv is None else argv
    try:
        args = _parser(argv).parse_args(argv)
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


def _parser(argv: Sequence[str]) -> Parser:
    """Make the parser of the command that ``argv`` names, so that only this one is imported, or else of all."""
    parser = Parser(
        prog="tokd",
        description="Text to token ids and back, exactly as the model's own tokenizer does.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    for name in COMMANDS.keys() & argv[:1] or COMMANDS:
        import_module(f"{__name__}.{COMMANDS[name]}").add(commands)
    return parser


class _Version(argparse.Action):
    """Print the version."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
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
