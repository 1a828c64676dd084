"""``tokd pack``: put examples of fine-tuning data together into rows of a fixed length."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, get_args

from service.cli.encode_corpus import add_input_format
from service.cli.options import Parser, add_policy, add_tokenizer, place, whole_number
from service.cli.streams import (
    CommandError,
    counted,
    note,
    printable,
    reason,
    require_absent,
    require_writable,
    write_json,
    write_line,
)
from tokenizer_core import Files, Method, Overflow, PackLayout, Packs, Tokenizer, TrainedOn, pack_files


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "pack",
        help="pack fine-tuning data into rows of a fixed length",
        description="Encode chats, prompts with completions, texts or ids of JSON lines and Parquet, and put several "
        "into each row of at most LENGTH tokens.",
    )
    parser.add_argument("corpus", nargs="+", metavar="CORPUS", help="files, directories, glob patterns or URLs")
    parser.add_argument(
        "-o",
        "--output",
        type=place,
        metavar="FILE",
        required=True,
        help="a new .parquet, .arrow or .npy (NeMo's), or with --format a new directory",
    )
    parser.add_argument(
        "--format",
        dest="layout",
        choices=get_args(PackLayout),
        help="write a directory of token files, as encode-corpus does",
    )
    add_input_format(parser)
    add_tokenizer(parser)
    parser.add_argument(
        "--length", type=whole_number, metavar="TOKENS", required=True, help="the most tokens of a row of the output"
    )
    parser.add_argument(
        "--method",
        choices=get_args(Method),
        default="best-fit",
        help="put each example whole where it fits best, all end to end, or each alone (default: %(default)s)",
    )
    parser.add_argument(
        "--overflow",
        choices=get_args(Overflow),
        default="error",
        help="what becomes of an example that is longer than a row (default: %(default)s)",
    )
    parser.add_argument(
        "--align", type=whole_number, default=1, metavar="N", help="begin each example at a multiple of N tokens"
    )
    parser.add_argument("--pad", action="store_true", help="fill every row up to its length with the pad token")
    parser.add_argument(
        "--seed", type=int, metavar="N", help="shuffle the rows (default: in the order of the examples)"
    )
    parser.add_argument(
        "--train-on",
        choices=get_args(TrainedOn),
        help="what is trained on (default: what the assistant says, completions, all of texts)",
    )
    parser.add_argument("--no-eos", action="store_true", help="end texts and completions with no end-of-text token")
    add_policy(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Pack, and print what was written."""
    output = Path(args.output)
    require_absent(output)
    require_writable(output)
    tokenizer = Tokenizer.open(args.tokenizer)
    options = {
        name: getattr(args, name)
        for name in ("method", "overflow", "align", "pad", "seed", "train_on", "special_tokens", "add_special_tokens")
    }
    try:
        packs = pack_files(
            Files(paths=tuple(args.corpus), format=getattr(args, "corpus.format")),
            tokenizer,
            output,
            args.length,
            layout=args.layout,
            eos=not args.no_eos,
            **options,
        )
    except OSError as error:
        # Input that cannot be read is an error of the corpus.
        raise CommandError("unwritable_output", f"cannot write {printable(str(output))}: {reason(error)}") from None
    _print(packs, output, tokenizer, as_json=args.json)
    return 0


def _print(packs: Packs, output: Path, tokenizer: Tokenizer, *, as_json: bool) -> None:
    plan, examples, trained = packs.plan, len(packs.rows.lengths), packs.trained
    if plan.tokens and not trained:
        note(
            "tokd: warning: there is nothing to learn, as every label is -100; see --train-on and the roles of messages"
        )
    counts: dict[str, Any] = {
        "split": plan.split,
        "truncated": plan.truncated,
        "dropped": plan.dropped,
        "empty": plan.empty,
        "tokens_lost": plan.tokens_lost,
    }
    if as_json:
        known = {"path": str(output), "examples": examples, "rows": len(packs), "tokens": plan.tokens}
        write_json({**known, "trained": trained, "full": plan.full, **counts, "tokenizer": tokenizer.hash})
        return
    tokens = f"{counted(plan.tokens, 'token')} ({trained:,} to learn)"
    rows = f"{counted(len(packs), 'row')} of {plan.length:,}"
    said = f"{counted(examples, 'example')}, {tokens} in {rows}, {plan.full:.2%} full"
    write_line(f"{said}, written to {printable(str(output))}")
    told = [f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items() if count]
    if told:
        write_line(f"of the examples: {', '.join(told)}")
