"""``tokd bench``: measure tokd beside other programs and beside its own definition."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from service.cli import bench_ladder
from service.cli.options import Parser
from service.cli.streams import CommandError

CHECKOUT = {
    "encode": "encode, decode, count and offsets beside tiktoken, tokenizers, gigatoken and others, ids proven equal",
    "http": "requests a second and latencies of the service, beside a plain FastAPI service",
    "train": "training beside tokenizers, gigatoken, rustbpe and sentencepiece, merges proven equal",
    "models": "training WordPiece, Unigram and SentencePiece's BPE beside other trainers, results checked",
    "choosing": "train every model on the same texts, and show what its tokens are worth, to choose by",
    "beside": "latency of small requests while a training job runs beside them",
    "memory": "memory of the server after many distinct requests",
    "overload": "answers, refusals and memory of a server that is sent sixteen times the large requests it can answer",
    "corpus": "encode a corpus into training files beside llm.c's script, Megatron and datatrove, tokens proven equal",
    "formats": "token files beside those of the peers' own writers, byte by byte, and through their readers",
    "counting": "count, add up and merge 100 million made pieces within a bound on memory, bytes proven equal",
    "packing": "pack a million rows beside TRL: seconds, and how full the packs are",
    "engines": "send random requests to tokd and to vLLM, and print what differs",
    "cluster": "train over a Ray cluster of this machine beside threads of one process, to equal bytes",
    "chats": "chats to ids beside transformers, and over HTTP, ids proven equal",
    "agents": "turns of agents whose whole conversation is sent again, beside transformers and vLLM, ids proven equal",
    "families": "encode other models than byte-level BPE beside tokenizers and kitoken, ids proven equal",
}
"""The benchmarks that need other programs, which they install into an environment of their own."""

ROOT = Path(__file__).resolve().parents[2]


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command and its benchmarks."""
    parser = commands.add_parser(
        "bench",
        help="measure",
        description="Measure. The ladder runs anywhere; the others need a checkout of the project, install the "
        "programs that they compare with into benchmarks/.peers, and write into benchmarks/results.",
    )
    which = parser.add_subparsers(metavar="BENCHMARK", required=True, parser_class=Parser)
    bench_ladder.add(which)
    for name, text in CHECKOUT.items():
        one = which.add_parser(name, help=text, description=f"Measure {text}.")
        one.add_argument("--short", action="store_true", help="few rounds of few cases; writes no results")
        if name == "encode":
            one.add_argument("texts", nargs="*", metavar="TEXT", help="measure on these files; writes no results")
        one.set_defaults(run=run, benchmark=name, texts=[])


def run(args: argparse.Namespace) -> int:
    """Run a benchmark of the checkout."""
    if not (ROOT / "benchmarks" / "__main__.py").is_file():
        message = (
            f"`bench {args.benchmark}` is not part of the installed package; run it in a checkout of the project: "
            f"python -m benchmarks {args.benchmark}"
        )
        raise CommandError("no_checkout", message)
    if not hasattr(os, "sched_setaffinity"):
        message = f"`bench {args.benchmark}` holds programs to cores, and reads /proc; run it on Linux"
        raise CommandError("unsupported_system", message)
    texts = [str(Path(text).absolute()) for text in args.texts]
    command = [sys.executable, "-m", "benchmarks", args.benchmark, *(["--short"] if args.short else []), *texts]
    return subprocess.run(command, cwd=ROOT, check=False).returncode
