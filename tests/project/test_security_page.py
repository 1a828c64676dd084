"""docs/security.md promises nothing without a test: the files that it names have as many cases as it says."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter

import pytest

from service.settings import table
from tests.support.data import PRESENT
from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")


def promises() -> list[tuple[str, list[str], int]]:
    """Return each promise with its test files and the number of their cases."""
    section = PAGE.partition("## Promises")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if "|" in line][2:]
    return [(promise, re.findall(r"`([^`]+)`", files), int(cases)) for _, promise, files, cases in rows]


def test_every_promise_names_tests_and_every_test_file_exists() -> None:
    assert len(promises()) > 10
    assert [promise for promise, files, cases in promises() if not files or cases < 1] == []
    named = set(re.findall(r"`(tests/[^`]+)`", PAGE))
    assert named == {file for _, files, _ in promises() for file in files}
    assert {file for file in named if not (ROOT / file).is_file()} == set()


@pytest.mark.nightly
@pytest.mark.skipif(not PRESENT, reason="without the data folder some tests have fewer cases")
def test_every_promise_has_as_many_cases_as_the_page_says() -> None:
    files = sorted({file for _, files, _ in promises() for file in files})
    command = [sys.executable, "-m", "pytest", "--collect-only", "--quiet", "-p", "no:cacheprovider", *files]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    cases = Counter(line.partition("::")[0] for line in listed.splitlines() if "::" in line)
    short = {promise: sum(cases[file] for file in named) for promise, named, _ in promises()}
    assert [(promise, short[promise]) for promise, _, stated in promises() if short[promise] < stated] == []


def test_every_bound_that_is_named_is_a_setting() -> None:
    bounds = PAGE.partition("## Bounds")[2].partition("\n## ")[0]
    named = set(re.findall(r"`(\w+)`", bounds))
    assert len(named) >= 20
    assert named - {row.name for row in table()} == set()
