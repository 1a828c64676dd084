"""``tokd check``: the audit of an artifact, or of token files."""

from __future__ import annotations

import argparse
from pathlib import Path

from service.cli.options import Parser, whole_number
from service.cli.streams import write_result
from service.cli.token_files import check_and_show, holds_token_files
from tokenizer_core import CheckReport, check_artifact

_MARKS = {"passed": "passed", "failed": "FAILED", "not_applicable": "-"}


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "check",
        help="audit an artifact or a corpus of tokens",
        description="Check the twelve points that go wrong with tokenizers, or token files against their manifest; "
        "the exit status is 1 if something fails.",
    )
    parser.add_argument("artifact", metavar="ARTIFACT", help="artifact directory, or one with token files")
    parser.add_argument("--embedding-rows", metavar="N", type=whole_number, help="rows of the model's embedding table")
    parser.add_argument(
        "-t", "--tokenizer", metavar="ARTIFACT", help="of token files: the artifact that encodes a sample again"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, with the evidence of every point")


def run(args: argparse.Namespace) -> int:
    """Audit and print."""
    if holds_token_files(Path(args.artifact)):
        return check_and_show(Path(args.artifact), args.tokenizer, as_json=args.json)
    report = check_artifact(args.artifact, embedding_rows=args.embedding_rows)
    write_result(report.to_dict(), table(report), as_json=args.json)
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
