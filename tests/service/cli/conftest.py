"""A home with an artifact, and the command run in it."""

from functools import partial
from pathlib import Path

import pytest

from tests.service.cli.processes import run_in
from tests.service.cli.training import write_corpus
from tests.support.tokenizers import write_layout
from tokenizer_core import Tokenizer


@pytest.fixture(scope="session")
def home(tmp_path_factory) -> Path:
    """A directory with a Hugging Face layout in ``hf`` and an artifact where the commands look for one."""
    home = tmp_path_factory.mktemp("home")
    write_layout(home / "hf")
    Tokenizer.from_hf(home / "hf").save(home / "artifacts" / "base", name="base")
    return home


@pytest.fixture(scope="session")
def tokenizer(home) -> Tokenizer:
    return Tokenizer.open(home / "artifacts" / "base")


@pytest.fixture
def tokd(home):
    """Run one command in ``home``."""

    return partial(run_in, home)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A working directory with a corpus in two files."""
    (tmp_path / "corpus").mkdir()
    write_corpus(tmp_path / "corpus" / "a.jsonl", 3000)
    write_corpus(tmp_path / "corpus" / "b.jsonl", 600)
    monkeypatch.chdir(tmp_path)
    return tmp_path
