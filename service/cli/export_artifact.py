"""``tokd export``: write an artifact in the format of another program."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from service.cli.options import Parser, place
from service.cli.streams import CommandError, create, printable, usage, write_result
from tokenizer_core import Beside, Tokenizer, to_huggingface, to_sentencepiece, to_tiktoken, to_vocab_merges

FORMATS = ("huggingface", "sentencepiece", "tiktoken", "vocab_merges")


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "export",
        help="write an artifact in another format",
        description="Write Hugging Face's layout (a directory), a SentencePiece model, a tiktoken rank file, or a "
        "directory with vocab.json and merges.txt. What the format cannot carry is an error.",
    )
    parser.add_argument("artifact", metavar="ARTIFACT", help="artifact directory")
    parser.add_argument(
        "-o", "--output", type=place, metavar="PATH", required=True, help="the file or directory to write"
    )
    parser.add_argument("--format", choices=FORMATS, required=True, help="the format to write")
    parser.add_argument(
        "--response-template", action="store_true", help="write a derived response template into tokenizer_config.json"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Export, and print what a reader of the files needs besides."""
    tokenizer = Tokenizer.open(args.artifact)
    parts = tokenizer.parts
    if args.response_template:
        if args.format != "huggingface":
            raise usage("--response-template goes with --format huggingface")
        if (template := tokenizer.response_template) is None:
            raise CommandError("template_missing", "no response template can be derived; see tokd response-template")
        extra = {**dict(parts.settings.extra), "response_template": json.dumps(template.spec, ensure_ascii=False)}
        parts = replace(parts, settings=replace(parts.settings, extra=tuple(extra.items())))
    output = Path(args.output)
    beside: Beside | None = None
    if args.format == "huggingface":
        create(output, to_huggingface(parts))
    elif args.format == "sentencepiece":
        create(output, to_sentencepiece(parts))
    elif args.format == "tiktoken":
        ranks, beside = to_tiktoken(parts)
        create(output, ranks)
    else:
        files, beside = to_vocab_merges(parts)
        create(output, files)
    said: dict[str, Any] = {"format": args.format, "path": str(output)}
    if beside is not None:
        said |= {"pattern": beside.pattern, "regex": beside.regex, "special_tokens": dict(beside.special_tokens)}
    lines = [f"{args.format}, written to {printable(str(output))}"]
    if beside is not None:
        lines += ["", "not in the files, so tell their reader:", f"  pattern  {printable(beside.regex)}"]
        lines += [f"  special  {printable(literal)} = {id}" for literal, id in beside.special_tokens.items()]
    write_result(said, "\n".join(lines), as_json=args.json)
    return 0
