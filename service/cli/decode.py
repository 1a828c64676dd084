"""``tokd decode``: convert ids to text."""

from __future__ import annotations

import argparse
import re
import sys

import numpy as np

from service.cli.options import Parser, add_tokenizer
from service.cli.streams import CommandError, decode_utf8, excerpt, read_input, usage, write, write_json
from tokenizer_core import Tokenizer

_SEPARATOR = re.compile(r"\s*,\s*|\s+")


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "decode",
        help="decode ids",
        description="Decode ids into text. Nothing is added to the text but, on a terminal, a last line break.",
    )
    parser.add_argument("ids", nargs="*", help="the ids; without them, --file or standard input")
    parser.add_argument("-f", "--file", metavar="FILE", help="read the ids from a file (- is standard input)")
    add_tokenizer(parser)
    parser.add_argument("--skip-special-tokens", action="store_true", help="leave special tokens out")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--bytes", action="store_true", help="write the tokens' bytes as they are, valid UTF-8 or not")
    how.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Decode and print."""
    if args.ids and args.file is not None:
        raise usage("give ids or --file, not both")
    tokenizer = Tokenizer.open(args.tokenizer)
    ids = parse_ids(" ".join(args.ids) if args.ids else decode_utf8(*read_input(args.file)))
    if args.bytes:
        write(tokenizer.decode_bytes(ids, skip_special_tokens=args.skip_special_tokens))
        return 0
    text = tokenizer.decode(ids, skip_special_tokens=args.skip_special_tokens)
    if args.json:
        write_json({"text": text, "count": len(ids), "tokenizer": tokenizer.hash})
    else:
        end = b"\n" if sys.stdout is not None and sys.stdout.isatty() else b""
        write(text.encode() + end)
    return 0


def parse_ids(text: str) -> np.ndarray:
    """Read ids that are separated by spaces, line breaks or a comma each, in brackets or not."""
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1].strip()
    words = _SEPARATOR.split(text) if text else []
    ids = np.empty(len(words), np.uint32)
    for index, word in enumerate(words):
        if not (word.isascii() and word.isdigit()):
            raise CommandError(
                "invalid_id", f"{excerpt(word, 40)!r} at index {index} is not an id; an id is a whole number"
            )
        if len(word) > 10 or int(word) > 0xFFFFFFFF:
            raise CommandError("unknown_token_id", f"no token has the id at index {index}: it is above {0xFFFFFFFF}")
        ids[index] = int(word)
    return ids
