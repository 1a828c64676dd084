"""``python -m benchmarks encode|http|train [--short]``."""

from __future__ import annotations

import argparse

from benchmarks import encode, serving, train


def main() -> int:
    """Run one benchmark."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("benchmark", choices=["encode", "http", "train"])
    parser.add_argument("--short", action="store_true", help="few rounds of few cases; writes no results")
    arguments = parser.parse_args()
    run = {"encode": encode.main, "http": serving.main, "train": train.main}[arguments.benchmark]
    return run(short=arguments.short)


if __name__ == "__main__":
    raise SystemExit(main())
