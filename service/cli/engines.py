"""Say what does the work of a command: this process, or a cluster."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout

from service.cli.options import Parser
from service.cli.streams import usage
from tokenizer_core import Engine, RayEngine


def add_engine(parser: Parser) -> None:
    """Add ``--engine`` and ``--address``."""
    parser.add_argument(
        "--engine",
        choices=("threads", "ray"),
        default="threads",
        help="what does the work: threads of this process, or the hosts of a Ray cluster (default: %(default)s)",
    )
    parser.add_argument(
        "--address",
        metavar="HOST:PORT",
        help="of the Ray cluster, or auto for the one of this host (default: RAY_ADDRESS, or else a cluster of this "
        "host alone, for this run)",
    )


@contextmanager
def engine_of(args: argparse.Namespace) -> Iterator[Engine | None]:
    """Connect to the cluster, if there is to be one."""
    if args.engine == "threads":
        if args.address is not None:
            raise usage("--address is that of a cluster; give --engine ray with it")
        yield None
        return
    # Ray prints what it has to say of its processes on standard output, which is for results.
    with redirect_stdout(sys.stderr), RayEngine(args.address) as engine:
        yield engine
