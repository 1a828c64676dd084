"""``tokd response-template``: show how a model's answers are written, as ``response_template`` of transformers."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from service.cli.options import Parser, place
from service.cli.streams import CommandError, create, note, write
from tokenizer_core import Tokenizer


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "response-template",
        help="print how a model's answers are read",
        description="Print the model's response_template, by which transformers reads answers. Without one, it is "
        "derived from the chat template; what could not be derived is said on standard error.",
    )
    parser.add_argument("artifact", metavar="ARTIFACT", help="artifact directory")
    parser.add_argument("-o", "--output", type=place, metavar="PATH", help="the file to write")
    parser.add_argument("--json", action="store_true", help="print JSON, as always")


def run(args: argparse.Namespace) -> int:
    """Derive and print."""
    tokenizer = Tokenizer.open(args.artifact)
    template = tokenizer.response_template
    notes = tokenizer.derive_response_template().notes if template is None else template.notes
    if template is None:
        raise CommandError("template_missing", f"no response template can be derived: {'; '.join(notes)}")
    for each in notes:
        note(each)
    written = json.dumps(template.spec, ensure_ascii=False, indent=2).encode() + b"\n"
    if args.output is None:
        write(written)
    else:
        create(Path(args.output), written)
    return 0
