"""``python -m benchmarks NAME [--short]``, see ``RUNS``; ``encode`` also on texts of your own."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks import (
    beside,
    chats,
    cluster,
    corpus,
    counting,
    encode,
    engines,
    families,
    formats,
    memory,
    models,
    overload,
    packing,
    serving,
    train,
)
from benchmarks.corpora import missing

RUNS = {
    "http": serving.main,
    "chats": chats.main,
    "train": train.main,
    "models": models.main,
    "beside": beside.main,
    "memory": memory.main,
    "overload": overload.main,
    "families": families.main,
    "corpus": corpus.main,
    "formats": formats.main,
    "counting": counting.main,
    "cluster": cluster.main,
    "packing": packing.main,
    "engines": engines.main,
}


def main() -> int:
    """Run one benchmark."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    which = parser.add_subparsers(metavar="BENCHMARK", dest="benchmark", required=True)
    for name in ("encode", *RUNS):
        one = which.add_parser(name)
        one.add_argument("--short", action="store_true", help="few rounds of few cases; writes no results")
        if name == "encode":
            one.add_argument("texts", nargs="*", type=Path, metavar="TEXT", help="measure on these; writes no results")
    arguments = parser.parse_args()
    if (why := missing(arguments.benchmark)) is not None:
        raise SystemExit(why)
    if arguments.benchmark == "encode":
        return encode.main(short=arguments.short, texts=tuple(arguments.texts))
    return RUNS[arguments.benchmark](short=arguments.short)


if __name__ == "__main__":
    raise SystemExit(main())
