"""``tokd train --level characters``: merges of characters, as ``vocab.json`` and ``merges.txt``."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from service.cli.progress import Bar
from service.cli.streams import create, printable, require_absent, require_writable, usage, write_result
from service.cli.train_settings import checked, given, invalid, origin
from tokenizer_core import Files, InvalidOption, train_characters

SETTINGS = {
    "corpus",
    "vocab_size",
    "pattern",
    "special_tokens",
    "tie_break",
    "min_frequency",
    "max_token_length",
    "limit_alphabet",
    "replace_invalid",
}
OF_BYTES = ("resume", "work", "save_counts", "report", "against", "fertility")
"""Flags that only a run of byte level has."""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add what only characters have."""
    parser.add_argument("--level", choices=("bytes", "characters"), default="bytes", help="default: %(default)s")
    parser.add_argument("--end-of-word", metavar="MARK", help="of characters: ends every word (default: </w>)")


def require_bytes(args: argparse.Namespace) -> None:
    """Refuse the flags of characters at byte level."""
    if args.end_of_word is not None:
        raise usage("--end-of-word needs --level characters")


def run(args: argparse.Namespace) -> int:
    """Train and write both files."""
    output = Path(args.output)
    settings = given(args)
    others = [f"--{name.replace('_', '-')}" for name in OF_BYTES if getattr(args, name)]
    others += sorted(settings.keys() - SETTINGS)
    if others:
        raise usage(f"{', '.join(others)}: not with --level characters")
    # The size means another thing here; everything else is checked as at byte level.
    of_bytes = {key: value for key, value in settings.items() if key not in ("vocab_size", "limit_alphabet")}
    corpus = checked(of_bytes, args).corpus
    require_absent(output)
    require_writable(output)
    chosen = {key: value for key, value in settings.items() if key != "corpus"}
    if args.end_of_word is not None:
        chosen["end_of_word"] = args.end_of_word
    bar = Bar()
    try:
        texts = corpus if isinstance(corpus, Files) else iter(corpus)
        trained = train_characters(texts, threads=args.threads, progress=bar, **chosen)
    except InvalidOption as error:
        raise invalid(f"{origin(error, args)}{error.message}") from None
    finally:
        bar.clear()
    with tempfile.TemporaryDirectory() as folder:
        trained.save(folder)
        create(output, {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())})
    said = {
        "path": str(output),
        "tokens": len(trained.tokens),
        "characters": trained.alphabet,
        "merges": len(trained.merges),
    }
    counts = f"{said['tokens']:,} tokens, {said['characters']:,} of them characters"
    write_result(said, f"{counts}, written to {printable(str(output))}", as_json=args.json)
    return 0
