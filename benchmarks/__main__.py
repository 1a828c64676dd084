"""``python -m benchmarks NAME [--short]``, see docs/benchmarks.md; ``encode`` also on texts of your own."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

from benchmarks.corpora import WANTED, missing


def main() -> int:
    """Run one benchmark."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    which = parser.add_subparsers(metavar="BENCHMARK", dest="benchmark", required=True)
    for name in WANTED:
        one = which.add_parser(name)
        one.add_argument("--short", action="store_true", help="few rounds of few cases; writes no results")
        if name == "encode":
            one.add_argument("texts", nargs="*", type=Path, metavar="TEXT", help="measure on these; writes no results")
    arguments = vars(parser.parse_args())
    name = arguments.pop("benchmark")
    if (why := missing(name)) is not None:
        raise SystemExit(why)
    status: int = import_module("benchmarks." + {"http": "serving"}.get(name, name)).main(**arguments)
    return status


if __name__ == "__main__":
    raise SystemExit(main())
