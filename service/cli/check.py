"""``tokd check``: the audit of an artifact."""

from __future__ import annotations

import argparse

from service.cli.options import Parser, whole_number
from service.cli.streams import write_json, write_line
from tokenizer_core import CheckReport, check_artifact

_MARKS = {"passed": "passed", "failed": "FAILED", "not_applicable": "-"}


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "check",
        help="audit an artifact",
        description="Check the eleven points that go wrong with tokenizers; the exit status is 1 if one fails.",
    )
    parser.add_argument("artifact", metavar="ARTIFACT", help="artifact directory")
    parser.add_argument("--embedding-rows", metavar="N", type=whole_number, help="rows of the model's embedding table")
    parser.add_argument("--json", action="store_true", help="print JSON, with the evidence of every point")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Audit and print."""
    report = check_artifact(args.artifact, embedding_rows=args.embedding_rows)
    if args.json:
        write_json(report.to_dict())
    else:
        write_line(table(report))
    return 0 if report.ok else 1


def table(report: CheckReport) -> str:
    """Lay the points out as a table."""
    lines = [f"{report.name}  {report.tokenizer or '(not loaded)'}", ""]
    width = max(len(point.name) for point in report.points)
    for point in report.points:
        lines.append(f"{point.number:>2}  {point.name:<{width}}  {_MARKS[point.status.value]:<6}  {point.summary}")
    failures = len(report.failures)
    lines += ["", "no point failed" if report.ok else f"{failures} of {len(report.points)} points failed"]
    return "\n".join(lines)
