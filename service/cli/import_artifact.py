"""``tokd import``: convert the files of another program to an artifact."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

from service.cli.options import Parser, place
from service.cli.streams import (
    CommandError,
    decode_utf8,
    printable,
    read_file,
    reason,
    require_absent,
    usage,
    write_result,
)
from tokenizer_core import FORMATS, Format, Tokenizer

_ROLES = {"bos_token": "begins a text", "eos_token": "ends a text", "pad_token": "fills rows"}


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "import",
        help="turn tokenizer files into an artifact",
        description="Read what a model ships (a directory, tokenizer.json, tekken.json, a rank file, GGUF, or "
        "vocab.json with merges.txt), also from the Hugging Face hub, and write an artifact directory.",
    )
    parser.add_argument(
        "source",
        nargs="+",
        metavar="SOURCE",
        help="a model's directory, its tokenizer's file (the files beside it are read too), or hf:ORG/NAME[@REVISION]; "
        "or vocab.json and merges.txt",
    )
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
    for role, does in _ROLES.items():
        parser.add_argument(
            f"--{role.replace('_', '-')}",
            metavar="LITERAL",
            help=f"the added token that {does}, where the source names none or another",
        )
    parser.add_argument("--chat-template", metavar="FILE", help="a file with the Jinja source of the chat template")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Read, write and say what was written."""
    output = Path(args.output)
    require_absent(output)
    # The log would tell of roles that the options give.
    log = logging.getLogger("tokd")
    log.disabled = True
    try:
        tokenizer = _read(args.source, args.format, args.pattern, _as_dict(args.special_token))
        tokenizer = tokenizer.with_roles(bos=args.bos_token, eos=args.eos_token, pad=args.pad_token)
        if args.chat_template is not None:
            tokenizer = tokenizer.with_template(decode_utf8(read_file(args.chat_template), args.chat_template))
    finally:
        log.disabled = False
    try:
        tokenizer.save(output, name=args.name)
    except OSError as error:
        raise CommandError("unwritable_output", f"{output}: {reason(error)}") from None
    saved = Tokenizer.open(output)
    origin = saved.provenance["imported_from"]
    found = {
        "name": saved.name,
        "hash": saved.hash,
        "format": origin["format"],
        "vocab_size": saved.vocab_size,
        "path": str(output),
        "files": list(origin["files"]),
        "passed_over": origin.get("passed_over", []),
        "missing_tokens": dict(saved.missing_tokens),
    }
    pattern = f", pattern {origin['pattern']}" if "pattern" in origin else ""
    lines = [
        f"{saved.name}  {saved.hash}",
        f"{origin['format']}{pattern}, {saved.vocab_size:,} ids, written to {output}",
        f"next: tokd serve --artifact {output}",
    ]
    if len(origin["files"]) > 1 or "passed_over" in origin:
        over = f"; passed over {', '.join(origin['passed_over'])}" if "passed_over" in origin else ""
        lines.append(f"read {', '.join(origin['files'])}{over}")
    lines += [_missing(template, names) for template, names in saved.missing_tokens.items()]
    write_result(found, "\n".join(map(printable, lines)), as_json=args.json)
    return 0


def _missing(template: str, names: tuple[str, ...]) -> str:
    options = " or ".join(f"--{name.replace('_', '-')}" for name in names if name in _ROLES)
    way = f"give {options}" if options else "name it in tokenizer_config.json"
    return f"the chat template {template} reads {', '.join(names)}, which no token is: its chats lack it; {way}"


def _read(sources: list[str], format: Format | None, pattern: str | None, special_tokens: dict[str, int]) -> Tokenizer:
    if len(sources) == 2 and format in (None, "vocab_merges"):
        vocab, merges = sources
        is_directory = [Path(vocab).parent / name for name in ("vocab.json", "merges.txt")] == [
            Path(vocab),
            Path(merges),
        ]
        if is_directory and format is pattern is None and not special_tokens:
            return Tokenizer.load(vocab)
        return Tokenizer.from_vocab_merges(vocab, merges, pattern=pattern or "gpt2", special_tokens=special_tokens)
    if len(sources) != 1:
        raise usage(f"{len(sources)} sources were given; give one, or vocab.json and merges.txt")
    (source,) = sources
    if format is None and Path(source, "manifest.json").exists():
        raise CommandError("unknown_format", f"{source} is an artifact already; copy it, or use tokd export")
    return Tokenizer.load(source, format=format, pattern=pattern, special_tokens=special_tokens)


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
