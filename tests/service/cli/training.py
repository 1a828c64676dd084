"""What the tests of training on the command line share: a corpus, flags for it, and runs that are interrupted."""

from __future__ import annotations

import json
import os
import random
import signal
from pathlib import Path

from service.cli import main, train
from service.cli.progress import Bar

SPECIAL = "<|end|>"
FLAGS = ["corpus", "--field", "body", "--vocab-size", "400", "--special-token", SPECIAL, "--pattern", "gpt2"]


def write_corpus(path: Path, words: int) -> Path:
    rng = random.Random(20_26)
    letters = "aeiou" * 3 + "bcdfglmnprst"
    known = ["".join(rng.choices(letters, k=rng.randint(2, 9))) for _ in range(400)]
    lines = (" ".join(rng.choices(known, k=12)) for _ in range(words // 12))
    path.write_text("".join(json.dumps({"body": line + SPECIAL}) + "\n" for line in lines), encoding="utf-8")
    return path


def contents(place: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(place.iterdir())}


def refused(capsysbinary, code: str, status: int, arguments: list[str]) -> str:
    """The command fails with one line; it left nothing behind."""
    before = sorted(Path().rglob("*"))
    assert main(["train", *arguments]) == status
    out, err = capsysbinary.readouterr()
    message = err.decode()
    assert out == b""
    assert message.startswith(f"tokd: error: {code}: "), message
    assert message.count("\n") == 1, message
    assert sorted(Path().rglob("*")) == before
    return message


class Interrupting(Bar):
    """Interrupts the run at the first report of a phase."""

    phase = "counting"
    how = signal.SIGTERM

    def __call__(self, progress):
        super().__call__(progress)
        if progress.phase == self.phase:
            os.kill(os.getpid(), self.how)


def interrupted(monkeypatch, capsysbinary, *flags: str, phase: str = "merging") -> None:
    """Leave a run behind that was stopped in a phase."""
    monkeypatch.setattr(train, "Bar", type("At", (Interrupting,), {"phase": phase}))
    assert main(["train", *FLAGS, "-o", "mine", *flags]) == 143
    monkeypatch.setattr(train, "Bar", Bar)
    capsysbinary.readouterr()
