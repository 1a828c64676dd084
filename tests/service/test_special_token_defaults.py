"""Special tokens around a text are put where the table of ``docs/exactness.md`` says so, and nowhere else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.cli import main
from tests.support.paths import ROOT
from tokenizer_core import Tokenizer, encode_corpus, pack

TEXT = "the fox"
PAGE = (ROOT / "docs" / "exactness.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## Special tokens around a text")[2].partition("\n## ")[0]
TABLE = re.findall(r"^\| (.+?) \| (true|false|never)", SECTION, re.MULTILINE)


def documented(name: str) -> str:
    (row,) = [default for where, default in TABLE if name in re.findall(r"`(?:POST )?([^`]+)`", where)]
    return row


@pytest.fixture
def framed_number(framed: Tokenizer) -> int:
    """The special tokens around a text."""
    return len(framed.encode("", add_special_tokens=True))


def as_documented(name: str, found: int, framed: Tokenizer, number: int) -> bool:
    return found == len(framed.encode(TEXT)) + (number if documented(name) == "true" else 0)


def test_the_library_is_as_documented(framed: Tokenizer, framed_number: int) -> None:
    assert framed_number == 2
    for name, found in {
        "Tokenizer.encode": len(framed.encode(TEXT)),
        "encode_batch": len(framed.encode_batch([TEXT])[0]),
        "count": framed.count(TEXT),
        "offsets": len(framed.offsets(TEXT).ids),
        "Tokenizer.encode_pair": len(framed.encode_pair(TEXT, None).ids),
        "encode_pair_batch": len(framed.encode_pair_batch([TEXT], None)[0].ids),
        "count_pair": framed.count_pair(TEXT, ""),
        "pack": int(pack([{"text": TEXT}], framed, 64, eos=False).plan.tokens),
    }.items():
        assert as_documented(name, found, framed, framed_number), name


def test_routes_are_as_documented(client: TestClient, framed: Tokenizer, framed_number: int) -> None:
    bodies: dict[str, dict[str, Any]] = {name: {"text": TEXT} for name in ("/encode", "/count", "/offsets")}
    bodies |= {"/tokenize": {"prompt": TEXT}, "/v1/tokenize": {"prompt": TEXT}}
    for path, body in bodies.items():
        answer = client.post(path, json=body).json()
        assert as_documented(path, answer.get("count") or len(answer["ids"]), framed, framed_number), path
    answer = client.post("/v1/completions/render", json={"model": "framed", "prompt": TEXT}).json()
    assert as_documented("/v1/completions/render", len(answer[0]["token_ids"]), framed, framed_number)
    packed = client.post("/pack", json={"examples": [{"text": TEXT}], "length": 64, "eos": False}).json()
    assert as_documented("/pack", packed["tokens"], framed, framed_number)
    messages = {"messages": [{"role": "user", "content": TEXT}]}
    rendered = client.post("/render", json=messages).json()["text"]
    assert client.post("/count", json=messages).json()["count"] == framed.count(rendered, special_tokens="parse")


def test_the_command_is_as_documented(
    framed: Tokenizer, framed_number: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    framed.save(tmp_path / "framed")
    assert main(["encode", TEXT, "-t", str(tmp_path / "framed"), "-c"]) == 0
    assert as_documented("tokd encode", int(capsys.readouterr().out), framed, framed_number)
    (tmp_path / "a.txt").write_text(TEXT)
    written = encode_corpus(tmp_path / "a.txt", framed, tmp_path / "out", eos="none")
    assert documented("encode_corpus") == "never"
    assert written.tokens == len(framed.encode(TEXT))
