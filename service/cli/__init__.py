"""The ``tokd`` command: one file a subcommand, each with ``add`` (its options) and ``run`` (its work).

Exit status: 0 done, 1 failed, 2 the command line is wrong, 130 interrupted, 141 the reader of the output went away.
An error is one line on standard error: ``tokd: error: <code>: <message>``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from service.cli.command_line import COMMANDS, leaves, make_parser
from service.cli.flag_names import flags_of
from service.cli.flag_names import with_place as _with_place
from service.cli.streams import CommandError, forget, note, reason
from tokenizer_core import TokdError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    argv = sys.argv[1:] if argv is None else argv
    flags: dict[str, str] = {}
    try:
        # Only the command that is named is imported, or else all.
        parser = make_parser(COMMANDS.keys() & argv[:1] or COMMANDS)
        args = parser.parse_args(argv)
        flags = next(flags_of(leaf) for leaf in leaves(parser) if leaf.get_default("run") is args.run)
        status: int = args.run(args)
        return status
    except CommandError as error:
        return _fail(error.code, error.message, error.status)
    except TokdError as error:
        return _fail(error.code, _with_place(error, flags), 1)
    except BrokenPipeError:
        forget(sys.stdout)
        return 141
    except OSError as error:
        return _fail("io_error", f"{error.filename}: {reason(error)}" if error.filename else reason(error), 1)
    except KeyboardInterrupt:
        return 130


def _fail(code: str, message: str, status: int) -> int:
    note(f"tokd: error: {code}: {message}")
    return status
