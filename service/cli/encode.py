"""``tokd encode``: convert a text to ids, their number, or their spans."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any, get_args

import orjson

from service.cli.options import Parser, add_policy, add_tokenizer, whole_number
from service.cli.streams import (
    CommandError,
    argument_text,
    decode_utf8,
    printable,
    read_input,
    usage,
    write,
    write_json,
    write_line,
    write_result,
)
from tokenizer_core import ReservedLiteral, SamplingOptions, Tokenizer, Unit

_COLOURS = (189, 223, 194, 225, 229, 195)
"""Backgrounds of xterm's 256 colours: the pale ones of the page."""

_COLOURED = ("auto", "always", "never")


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "encode",
        help="encode a text",
        description="Encode a text into ids. The text is taken as it is: a line break at its end is part of it.",
    )
    parser.add_argument("text", nargs="?", help="the text; without it, --file or standard input")
    parser.add_argument("-f", "--file", metavar="FILE", help="read the text from a file (- is standard input)")
    add_tokenizer(parser)
    add_policy(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("-c", "--count", action="store_true", help="print only how many ids there are")
    what.add_argument("-o", "--offsets", action="store_true", help="print a line a token: id, start, end, text")
    what.add_argument("--table", action="store_true", help="print the tokens as a table: number, id, start, end, text")
    parser.add_argument("--unit", choices=get_args(Unit), default=None, help="unit of the offsets (default: char)")
    add_sampling(parser, what)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--color",
        choices=_COLOURED,
        default="auto",
        help="print the tokens in colours below the ids or in the table (default: on a terminal without NO_COLOR)",
    )


def run(args: argparse.Namespace) -> int:
    """Encode and print."""
    if args.unit is not None and not (args.offsets or args.table):
        raise usage("--unit needs --offsets or --table")
    if args.table and args.json:
        raise usage("--table is for the eye; give --offsets --json")
    sampling = {name: value for name in SamplingOptions.__annotations__ if (value := getattr(args, name)) is not None}
    if sampling and (args.count or args.offsets or args.table or args.best):
        raise usage(f"--{next(iter(sampling))} does not go with --count, --offsets, --table and --best")
    if args.text is not None and args.file is not None:
        raise usage("give a text or --file, not both")
    tokenizer = Tokenizer.open(args.tokenizer)
    text = argument_text(args.text) if args.text is not None else decode_utf8(*read_input(args.file))
    try:
        _encode(tokenizer, text, args, sampling)
    except ReservedLiteral as error:
        start, end = error.place["span"]
        raise CommandError(
            error.code,
            f"the text holds {text[start:end]!r}, the literal of a special token, at character {start}; "
            "pass --special-tokens text to encode it as ordinary text, or --special-tokens parse to make it the token",
        ) from None
    return 0


def add_sampling(parser: argparse.ArgumentParser, what: argparse._MutuallyExclusiveGroup) -> None:
    """Add what draws a segmentation, and what lists the best."""
    parser.add_argument("--dropout", type=float, metavar="P", help="BPE: leave each merge out with this probability")
    parser.add_argument("--alpha", type=float, metavar="A", help="Unigram: draw by probability to the power A")
    parser.add_argument("--nbest", type=int, metavar="N", help="with --alpha: draw among the N best segmentations")
    parser.add_argument("--seed", type=int, metavar="N", help="what is drawn needs a seed; the same gives the same ids")
    what.add_argument("--best", type=whole_number, metavar="N", help="Unigram: list the N best segmentations")


def _encode(tokenizer: Tokenizer, text: str, args: argparse.Namespace, sampling: dict[str, Any]) -> None:
    policy: dict[str, Any] = {"special_tokens": args.special_tokens, "add_special_tokens": args.add_special_tokens}
    if args.count:
        count = tokenizer.count(text, **policy)
        write_result({"count": count, "tokenizer": tokenizer.hash}, str(count), as_json=args.json)
    elif args.best:
        _write_best(tokenizer, text, args.best, policy, as_json=args.json)
    elif args.offsets:
        _write_offsets(tokenizer, text, args.unit or "char", policy, as_json=args.json)
    elif args.table:
        _write_table(tokenizer, text, args.unit or "char", policy, in_colours=wants_colours(args.color))
    else:
        ids = tokenizer.encode(text, **policy, **sampling)
        written = orjson.dumps(ids, option=orjson.OPT_SERIALIZE_NUMPY)
        if args.json:
            write(b'{"ids": %b, "count": %d, "tokenizer": "%b"}\n' % (written, len(ids), tokenizer.hash.encode()))
        else:
            write(written[1:-1].replace(b",", b" ") + b"\n")
            if wants_colours(args.color):
                write_line("".join(_coloured(_visible(tokenizer.token_bytes(id)) for id in ids.tolist())))


def _write_best(tokenizer: Tokenizer, text: str, count: int, policy: dict[str, Any], *, as_json: bool) -> None:
    found = tokenizer.nbest(text, count, **policy)
    if as_json:
        listed = [{"ids": each.ids.tolist(), "score": each.score} for each in found]
        write_json({"segmentations": listed, "tokenizer": tokenizer.hash})
        return
    lines = [f"{each.score:.4f}\t{' '.join(map(str, each.ids.tolist()))}\n" for each in found]
    write("".join(lines).encode())


def _write_offsets(tokenizer: Tokenizer, text: str, unit: Unit, policy: dict[str, Any], *, as_json: bool) -> None:
    found = tokenizer.offsets(text, unit, **policy)
    if as_json:
        write_json(
            {
                "ids": found.ids.tolist(),
                "spans": found.spans.tolist(),
                "unit": unit,
                "count": len(found.ids),
                "tokenizer": tokenizer.hash,
            }
        )
        return
    lines = [
        f"{id}\t{start}\t{end}\t{_visible(tokenizer.token_bytes(id))}\n"
        for id, (start, end) in zip(found.ids.tolist(), found.spans.tolist(), strict=True)
    ]
    write("".join(lines).encode())


def _write_table(tokenizer: Tokenizer, text: str, unit: Unit, policy: dict[str, Any], *, in_colours: bool) -> None:
    """Write a line a token below a line of headings, numbers to the right."""
    found = tokenizer.offsets(text, unit, **policy)
    rows = [
        (str(number), str(id), str(start), str(end))
        for number, (id, (start, end)) in enumerate(zip(found.ids.tolist(), found.spans.tolist(), strict=True), 1)
    ]
    headings = ("#", "id", unit, "end")
    # The width of a token on a terminal is not known, so it stands last.
    tokens = [_visible(tokenizer.token_bytes(id)) for id in found.ids.tolist()]
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    shown = zip((headings, *rows), ("token", *(_coloured(tokens) if in_colours else tokens)), strict=True)
    lines = ["  ".join((*map(str.rjust, cells, widths), token)) + "\n" for cells, token in shown]
    write("".join(lines).encode())


def _visible(token: bytes) -> str:
    """Show a token on one line: text as it is, control characters and half characters as escapes."""
    return printable(token.decode(errors="backslashreplace"))


def wants_colours(choice: str) -> bool:
    """Tell whether to write colours: by default on a terminal, unless ``NO_COLOR`` is set to something."""
    if choice == "auto":
        return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return choice == "always"


def _coloured(texts: Iterable[str]) -> Iterator[str]:
    """Give texts, in which nothing may be left that a terminal obeys, turning colours."""
    for index, text in enumerate(texts):
        yield f"\x1b[30;48;5;{_COLOURS[index % len(_COLOURS)]}m{text}\x1b[0m"
