"""Opening a tokenizer touches memory for the first long text, unless none is to be kept."""

from __future__ import annotations

import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

BASE = Path(__file__).resolve().parents[1] / "artifacts" / "base"

CHILD = """\
import resource, sys

from tokenizer_core import Tokenizer, keep_outputs


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


if sys.argv[2] == "none":
    keep_outputs(0)
Tokenizer.open(sys.argv[1])
once = resident()
tokenizer = Tokenizer.open(sys.argv[1])
again = resident()
keep_outputs(0)
print(again - resident(), again - once)
"""

LINUX = tuple(int(number) for number in re.findall(r"\d+", platform.release())[:2])

PREPARED = 4 << 20
"""In bytes: what is touched."""


def measured(kept: str) -> tuple[int, int]:
    command = [sys.executable, "-c", CHILD, str(BASE), kept]
    freed, second = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return int(freed), int(second)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps memory")
@pytest.mark.skipif(LINUX < (5, 14), reason="it cannot touch memory in advance")
def test_a_first_text_finds_memory_once_however_many_tokenizers_are_opened() -> None:
    freed, second = measured("default")
    freed_of_none, second_of_none = measured("none")
    assert abs(freed - freed_of_none - PREPARED) < PREPARED / 4
    assert abs(second - second_of_none) < PREPARED / 4
