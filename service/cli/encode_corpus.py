"""``tokd encode-corpus``: encode files of documents into files that a trainer reads."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

from service.cli.options import POLICIES, Parser, add_tokenizer, place
from service.cli.streams import (
    CommandError,
    printable,
    reason,
    require_absent,
    require_writable,
    write_json,
    write_line,
)
from tokenizer_core import EndOfText, Files, Tokenizer, encode_corpus


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "encode-corpus",
        help="encode a corpus into training files",
        description="Encode every document of text, JSON lines or Parquet into Megatron-LM's files.",
    )
    parser.add_argument("corpus", nargs="+", metavar="CORPUS", help="files, directories, glob patterns or URLs")
    parser.add_argument("-o", "--output", type=place, metavar="DIR", required=True, help="the directory to write")
    add_tokenizer(parser)
    parser.add_argument("--field", default="text", help="field of a line, column of Parquet (default: %(default)s)")
    parser.add_argument(
        "--eos",
        choices=get_args(EndOfText),
        default="after",
        help="where the end-of-text token stands at each document (default: %(default)s)",
    )
    parser.add_argument(
        "--special-tokens",
        choices=POLICIES,
        default="reject",
        help="what the literal of a special token in a document means: an error, ordinary text, or its id "
        "(default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Encode, and print what was written."""
    output = Path(args.output)
    require_absent(output)
    require_writable(output)
    files = Files(paths=tuple(args.corpus), field=args.field, column=args.field)
    tokenizer = Tokenizer.open(args.tokenizer)
    try:
        written = encode_corpus(files, tokenizer, output, eos=args.eos, special_tokens=args.special_tokens)
    except OSError as error:
        # What cannot be read is an error of the corpus.
        raise CommandError("unwritable_output", f"cannot write {printable(str(output))}: {reason(error)}") from None
    if args.json:
        write_json(
            {
                "path": str(output),
                "documents": written.documents,
                "tokens": written.tokens,
                "dtype": written.dtype,
                "tokenizer": tokenizer.hash,
            }
        )
    else:
        size = f"{written.documents:,} documents, {written.tokens:,} tokens ({written.dtype})"
        write_line(f"{size}, written to {printable(str(output))}")
    return 0
