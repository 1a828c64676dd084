"""Where the system refuses memory for a result, a call ends in ``MemoryError`` and the next one is right again."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.support.paths import BASE

pytestmark = pytest.mark.process


CHILD = """\
import json, resource, sys

from tokenizer_core import Tokenizer

tokenizer = Tokenizer.open(sys.argv[1])
words = "the red fox " * 500_000
broken = tokenizer.encode("é" + words)[1:]
calls = {
    "encode": lambda: len(tokenizer.encode(words)),
    "encode on threads": lambda: len(tokenizer.encode(words, threads=2)),
    "encode, not ASCII": lambda: len(tokenizer.encode("é" + words)),
    "encode_batch": lambda: len(tokenizer.encode_batch([words, words]).ids),
    "offsets": lambda: len(tokenizer.offsets(words).spans),
    "decode": lambda: len(tokenizer.decode(broken)),
    "decode_bytes": lambda: len(tokenizer.decode_bytes(broken)),
}


def limit(room):
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + room, resource.RLIM_INFINITY))


def without_limit():
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


# What was freed while the tokenizer was opened would otherwise be given without asking the system.
limit(0)
filling = []
try:
    while True:
        filling.append(bytes(1 << 20))
except MemoryError:
    without_limit()

outcomes = {}
for name, call in calls.items():
    expected = call()
    outcomes[name] = []
    for room in range(0, 160, 3):
        limit(room << 20)
        try:
            outcome = "right" if call() == expected else "wrong"
        except BaseException as error:
            outcome = type(error).__name__
        finally:
            without_limit()
        outcomes[name].append(outcome)
    outcomes[name].append("right" if call() == expected else "wrong")
print(json.dumps(outcomes))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not keep to RLIMIT_AS")
@pytest.mark.nightly
def test_refused_memory_is_a_memory_error() -> None:
    # The same of what the calls free.
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
    command = [sys.executable, "-c", CHILD, str(BASE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    for name, outcomes in json.loads(done.stdout).items():
        assert set(outcomes) <= {"right", "MemoryError"}, (name, outcomes)
        assert outcomes[-1] == "right", name
        assert "MemoryError" in outcomes, name
