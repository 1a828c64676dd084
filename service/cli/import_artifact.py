"""``tokd import``: the files of another program become an artifact."""

from __future__ import annotations

import argparse
import re
from dataclasses import replace
from pathlib import Path

from service.cli.options import Parser, place
from service.cli.streams import CommandError, printable, reason, require_absent, usage, write_json, write_line
from tokenizer_core import Tokenizer, pad_id_of

FORMATS = ("huggingface", "tiktoken", "vocab_merges")

DEFAULT_PATTERN = "gpt2"
"""The pattern that belongs to ``vocab.json`` with ``merges.txt``: the layout is GPT-2's."""

_HUGGINGFACE_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")
"""Beside a ``vocab.json`` and ``merges.txt`` the last two say which entries are special: they are not passed over."""

_VOCAB_JSON = re.compile(rb'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*[0-9]')
"""An object whose first value is an id."""

_RANK_LINE = re.compile(rb"[A-Za-z0-9+/]+={0,2} [0-9]+\r?\n?")


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "import",
        help="turn tokenizer files into an artifact",
        description="Read a tokenizer.json (or the directory that holds it), a tiktoken rank file, or a vocab.json "
        "with its merges.txt, and write an artifact directory.",
    )
    parser.add_argument("source", nargs="+", metavar="SOURCE", help="a file or directory; or vocab.json and merges.txt")
    parser.add_argument(
        "-o", "--output", type=place, metavar="DIR", required=True, help="the artifact directory to write"
    )
    parser.add_argument("--format", choices=FORMATS, help="format of the source (default: told from its content)")
    parser.add_argument("--name", help="name of the artifact (default: made from that of the output directory)")
    parser.add_argument(
        "--pattern",
        help="pretokenizer of a rank file or of vocab.json and merges.txt: a name such as cl100k_base, or a regular "
        "expression",
    )
    parser.add_argument(
        "--special-token",
        metavar="LITERAL=ID",
        action="append",
        default=[],
        type=_special_token,
        help="a special token of a rank file or of vocab.json and merges.txt; may be given more than once",
    )
    parser.add_argument(
        "--pad-token",
        metavar="LITERAL",
        help="the added token that fills rows, where the source names none or another",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Read, write and say what was written."""
    sources = [Path(source) for source in args.source]
    if len(sources) > 2:
        raise usage(f"{len(sources)} sources were given; give one, or vocab.json and merges.txt")
    format = args.format or recognise(sources)
    if format == "vocab_merges" and len(sources) == 1 and sources[0].is_dir():
        sources = [sources[0] / "vocab.json", sources[0] / "merges.txt"]
    output = Path(args.output)
    require_absent(output)
    tokenizer = _read(format, sources, args.pattern, _as_dict(args.special_token))
    if args.pad_token is not None:
        tokenizer = _with_pad_token(tokenizer, args.pad_token)
    try:
        tokenizer.save(output, name=args.name)
    except OSError as error:
        raise CommandError("unwritable_output", f"{output}: {reason(error)}") from None
    saved = Tokenizer.open(output)
    if args.json:
        write_json(
            {
                "name": saved.name,
                "hash": saved.hash,
                "format": format,
                "vocab_size": saved.vocab_size,
                "path": str(output),
            }
        )
    else:
        pattern = "" if format == "huggingface" else f", pattern {args.pattern or DEFAULT_PATTERN}"
        shown = printable(f"{format}{pattern}, {saved.vocab_size:,} ids, written to {output}")
        write_line(f"{printable(saved.name)}  {saved.hash}\n{shown}")
    return 0


def recognise(sources: list[Path]) -> str:
    """Tell the format from what is there; what is not certain is an error, never a guess."""
    if len(sources) == 2:
        return "vocab_merges"
    (source,) = sources
    if source.is_dir():
        if (source / "manifest.json").exists():
            raise CommandError("unknown_format", f"{source} is an artifact already; copy it, or use tokd export")
        if any((source / name).exists() for name in _HUGGINGFACE_FILES):
            return "huggingface"
        if (source / "vocab.json").exists() and (source / "merges.txt").exists():
            return "vocab_merges"
        raise CommandError(
            "unknown_format", f"{source} holds neither tokenizer.json nor vocab.json with merges.txt; name the file"
        )
    if source.exists() and not source.is_file():
        raise CommandError("unreadable_file", f"{source} is not a regular file")
    try:
        with source.open("rb") as file:
            start = file.read(4096)
    except OSError as error:
        raise CommandError("unreadable_file", f"{source}: {reason(error)}") from None
    if _VOCAB_JSON.match(start):
        raise usage(f"{source} is a vocabulary without its merges; give vocab.json and merges.txt")
    if start.lstrip().startswith(b"{"):
        return "huggingface"
    if _RANK_LINE.fullmatch(start.splitlines(keepends=True)[0] if start else b""):
        return "tiktoken"
    raise CommandError(
        "unknown_format", f"{source} is neither JSON nor a rank file; say what it is with --format {'|'.join(FORMATS)}"
    )


def _read(format: str, sources: list[Path], pattern: str | None, special_tokens: dict[str, int]) -> Tokenizer:
    if format == "vocab_merges":
        if len(sources) != 2:
            raise usage("the format vocab_merges needs two sources, vocab.json and merges.txt")
        vocab, merges = sources
        return Tokenizer.from_vocab_merges(
            vocab, merges, pattern=pattern or DEFAULT_PATTERN, special_tokens=special_tokens
        )
    if len(sources) != 1:
        raise usage(f"the format {format} needs one source")
    if format == "huggingface":
        if pattern is not None or special_tokens:
            raise usage("a tokenizer.json names its own pattern and special tokens; leave the options out")
        return Tokenizer.from_hf(sources[0])
    if pattern is None:
        raise usage("a rank file does not hold its pattern; say it with --pattern, such as --pattern cl100k_base")
    return Tokenizer.from_tiktoken(sources[0], pattern=pattern, special_tokens=special_tokens)


def _with_pad_token(tokenizer: Tokenizer, pad_token: str) -> Tokenizer:
    pad_id_of(pad_token, tokenizer.added_tokens)
    settings = replace(tokenizer.settings, pad=pad_token)
    return tokenizer.with_parts(replace(tokenizer.parts, settings=settings))


def _special_token(argument: str) -> tuple[str, int]:
    literal, equals, number = argument.rpartition("=")
    if not (equals and literal and number.isascii() and number.isdigit() and len(number) <= 10):
        raise argparse.ArgumentTypeError(f"{argument!r} is not LITERAL=ID, such as '<|endoftext|>=100257'")
    return literal, int(number)


def _as_dict(pairs: list[tuple[str, int]]) -> dict[str, int]:
    literals = dict(pairs)
    for literal in literals:
        if sum(literal == other for other, _ in pairs) > 1:
            raise usage(f"--special-token gives {literal!r} twice")
    return literals
