"""``tokd key new``: make an API key."""

from __future__ import annotations

import argparse
import errno
import fcntl
import os
import re
from collections.abc import Callable

from service.auth.identity import SCOPES
from service.auth.keys import MAX_FILE_BYTES, InvalidKeys, check_name, digest, entry, new_key, parse
from service.auth.rates import Rates
from service.cli.options import Parser
from service.cli.streams import CommandError, reason, write_result


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command."""
    parser = commands.add_parser("key", help="make API keys", description="Make API keys: tokd key new --help.")
    actions = parser.add_subparsers(metavar="ACTION", required=True, parser_class=Parser)
    new = actions.add_parser(
        "new",
        help="make a key",
        description="Make a key, print it once and never store it: the file of keys takes its hash alone.",
    )
    new.add_argument("--name", required=True, type=_name, help="whose key it is; jobs belong to this name")
    new.add_argument(
        "--scope",
        dest="scopes",
        required=True,
        action="append",
        choices=SCOPES,
        help="what the key may do; repeatable. admin may do everything and sees the jobs of all",
    )
    for name, what in (("requests", "requests"), ("tokens", "ids, in or out,")):
        new.add_argument(
            f"--{name}-per-second", type=_rate, metavar="N", help=f"{what} of all keys of this name in a second"
        )
    new.add_argument("--file", metavar="FILE", help="add the entry to this file of keys, which is made if need be")
    new.add_argument("--json", action="store_true", help="print JSON")
    new.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Make a key, write its entry, print both or, where the entry went into a file, the key."""
    key = new_key()
    scopes = sorted(set(args.scopes), key=SCOPES.index)
    written = entry(args.name, scopes, key, Rates(args.requests_per_second, args.tokens_per_second))

    def show() -> None:
        hashed = f"sha256:{digest(key.encode()).hex()}"
        text = key if args.file is not None else f"{key}\n\n{written}".rstrip()
        write_result({"key": key, "name": args.name, "scopes": scopes, "hash": hashed}, text, as_json=args.json)

    if args.file is not None:
        _append(args.file, written, show)
    else:
        show()
    return 0


def _append(file: str, written: str, show: Callable[[], None]) -> None:
    """Add an entry to a file of keys, in one write: a server that reads it at this moment sees all of it or none.

    It is taken back where its key cannot be shown: no key is in force that nobody has.
    """
    failed = None
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        with open(descriptor, "r+b", buffering=0) as stream:  # noqa: PTH123 - a descriptor
            fcntl.flock(stream, fcntl.LOCK_EX)
            before = stream.read(MAX_FILE_BYTES + 1) or b""
            addition = (b"\n" if before else b"") + written.encode("ascii")
            parse(before + addition)
            try:
                if stream.write(addition) < len(addition):
                    # The rest of a disk took the beginning.
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(stream.fileno())
            except OSError:
                stream.truncate(len(before))
                raise
            try:
                show()
            except BaseException as error:
                failed = error
                stream.truncate(len(before))
    except InvalidKeys as error:
        raise CommandError("invalid_keys", f"{file}: {error}") from None
    except OSError as error:
        raise CommandError("unwritable_output", f"{file}: {reason(error)}") from None
    if failed is not None:
        raise failed


def _rate(text: str) -> float:
    if re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,6})?", text) is None or not float(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return float(text)


def _name(text: str) -> str:
    try:
        check_name(text, "it")
    except InvalidKeys as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text
