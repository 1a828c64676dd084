"""``python -m benchmarks encode|http|train|beside|memory [--short]``."""

from __future__ import annotations

import argparse

from benchmarks import beside, encode, memory, serving, train

RUNS = {
    "encode": encode.main,
    "http": serving.main,
    "train": train.main,
    "beside": beside.main,
    "memory": memory.main,
}


def main() -> int:
    """Run one benchmark."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("benchmark", choices=sorted(RUNS))
    parser.add_argument("--short", action="store_true", help="few rounds of few cases; writes no results")
    arguments = parser.parse_args()
    return RUNS[arguments.benchmark](short=arguments.short)


if __name__ == "__main__":
    raise SystemExit(main())
