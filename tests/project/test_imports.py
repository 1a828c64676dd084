"""What is imported when: a text is encoded without what only training, chats or downloads need."""

import ast
import subprocess
import sys

import pytest

import tokenizer_core
from tests.support.paths import ROOT

BASE = str(ROOT / "artifacts" / "base")

ENCODE = f"""
from tokenizer_core import Tokenizer
tokenizer = Tokenizer.open({BASE!r})
assert tokenizer.decode(tokenizer.encode("once upon a time")) == "once upon a time"
"""
HINTS = """
from typing import get_type_hints
from tokenizer_core import EncodedBatch, Offsets, Tokenizer
assert get_type_hints(Tokenizer.encode_batch)["return"] is EncodedBatch
assert get_type_hints(Tokenizer.offsets)["return"] is Offsets
for name in ("__init__", "open", "from_tiktoken", "save", "token_bytes", "encode_batch", "pieces", "stream_decoder"):
    assert get_type_hints(getattr(Tokenizer, name)), name
for name in ("config", "parts", "settings", "added_tokens", "vocab_size"):
    assert get_type_hints(getattr(Tokenizer, name).fget), name
"""
BARE = f"""
from pathlib import Path
from tempfile import TemporaryDirectory
from tokenizer_core import Tokenizer
with TemporaryDirectory() as directory:
    bare = Path(directory, "tokenizer.json")
    bare.write_bytes(Path({BASE!r}, "tokenizer.json").read_bytes())
    assert Tokenizer.from_hf(bare).count("once upon a time") > 1
"""
COMMAND = f"""
from service.cli import main
assert main(["encode", "--tokenizer", {BASE!r}, "once upon a time"]) == 0
"""
TRAINING = {"tokenizer_core.corpus", "tokenizer_core.training"}
CHATS = {"regex", "tokenizer_core.chat"}
DOWNLOADS = {"email", "http", "socket", "ssl", "urllib.request"}
SERVER = {"asyncio", "fastapi", "pydantic", "sqlalchemy", "starlette", "uvicorn"}


def imported_by(program: str) -> set[str]:
    """Run a program in a fresh interpreter and return the modules that it imported."""
    program += "\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    ("program", "without"),
    [
        ("import tokenizer_core", {"numpy"} | TRAINING | CHATS | DOWNLOADS | SERVER),
        (HINTS, {"numpy"} | TRAINING | CHATS | DOWNLOADS | SERVER),
        (ENCODE, TRAINING | CHATS | DOWNLOADS | SERVER),
        (BARE, {"numpy"} | TRAINING | CHATS | DOWNLOADS | SERVER),
        (COMMAND, TRAINING | CHATS | DOWNLOADS | SERVER),
    ],
    ids=["import", "types of methods", "encode", "without templates", "command"],
)
def test_what_is_not_needed_is_not_imported(program: str, without: set[str]) -> None:
    found = imported_by(program)
    assert "tokenizer_core" in found
    assert found & without == set()


def test_every_public_name_is_there_and_comes_from_where_the_types_say() -> None:
    stub = ast.parse((ROOT / "tokenizer_core" / "__init__.pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    assert all(alias.asname == alias.name for node in imports for alias in node.names)
    modules = {alias.name: node.module for node in imports for alias in node.names}
    assert modules.keys() == set(tokenizer_core.__all__)
    program = "import sys, tokenizer_core\nfor name in sys.argv[1:]:\n    module, value = name.split('=')\n"
    program += "    there = getattr(tokenizer_core, value)\n"
    program += "    assert there is getattr(sys.modules[module], value), name\n"
    names = [f"{module}={name}" for name, module in modules.items()]
    for order in (names, names[::-1]):
        subprocess.run([sys.executable, "-c", program, *order], cwd=ROOT, check=True)


def test_a_name_that_is_not_public_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="'trains'"):
        tokenizer_core.trains  # noqa: B018
    assert set(dir(tokenizer_core)) < set(tokenizer_core.__all__)
