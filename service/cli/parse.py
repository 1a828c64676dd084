"""``tokd parse``: convert what a model wrote to a message."""

from __future__ import annotations

import argparse
from typing import Any

import orjson

from service.cli.decode import parse_ids
from service.cli.options import Parser, add_tokenizer
from service.cli.streams import CommandError, argument_text, decode_utf8, read_file, read_input, usage, write
from service.schemas.parsing import described
from tokenizer_core import Tokenizer


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "parse",
        help="parse what a model wrote",
        description="Read the message that a model wrote: reasoning, content and calls of tools.",
    )
    parser.add_argument(
        "text", nargs="*", help="the output, one argument (or ids); without it, --file or standard input"
    )
    parser.add_argument("-f", "--file", metavar="FILE", help="read the output from a file (- is standard input)")
    add_tokenizer(parser)
    parser.add_argument("--ids", action="store_true", help="the output is ids, not text")
    parser.add_argument(
        "--chat",
        metavar="FILE",
        help="JSON of the chat that is answered: messages, or an object with messages and tools",
    )
    parser.add_argument("--prompt", metavar="TEXT", help="the text that the output continues (default: the chat's)")
    parser.add_argument("--json", action="store_true", help="print places, what is malformed, and exactness, too")


def run(args: argparse.Namespace) -> int:
    """Parse and print."""
    if args.text and args.file is not None:
        raise usage("give an output or --file, not both")
    if len(args.text) > 1 and not args.ids:
        raise usage("the output is one argument; put it in quotes")
    tokenizer = Tokenizer.open(args.tokenizer)
    text = argument_text(" ".join(args.text)) if args.text else decode_utf8(*read_input(args.file))
    output: Any = parse_ids(text) if args.ids else text
    found = described(tokenizer.parse_chat(output, prompt=args.prompt, **_chat(args.chat)))
    write((found if args.json else orjson.dumps(orjson.loads(found)["message"])) + b"\n")
    return 0


def _chat(file: str | None) -> dict[str, Any]:
    if file is None:
        return {}
    try:
        given = orjson.loads(read_file(file))
    except orjson.JSONDecodeError as error:
        raise CommandError("invalid_json", f"{file} is not JSON: {error}") from None
    chat = given if isinstance(given, dict) else {"messages": given}
    if "messages" not in chat:
        raise CommandError("invalid_json", f"{file} has no messages; it is a list of them, or an object with messages")
    return {name: chat[name] for name in ("messages", "tools", "documents") if name in chat} | {
        "template_args": chat.get("chat_template_kwargs")
    }
