"""The page on formats names every part of a ``tokenizer.json`` that is read, and no other."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tokenizer_core import TokdError, Tokenizer
from tokenizer_core.formats import hf_decoders, hf_models, hf_stages

PAGE = (ROOT / "docs" / "formats.md").read_text("utf-8")
MODEL = {"type": "WordLevel", "vocab": {"a": 0, "[UNK]": 1}, "unk_token": "[UNK]"}
PARTS = {"normalizer": hf_stages, "pre_tokenizer": hf_stages, "decoder": hf_decoders}


def row(part: str) -> str:
    return next(line.split("|")[2] for line in PAGE.splitlines() if line.startswith(f"| `{part}` |"))


def known(part: str, folder: Path) -> set[str]:
    """Return the names that the reader takes: those of which it wants fields, and those with none."""
    module = PARTS[part].__name__.rpartition(".")[2]
    source = (ROOT / "tokenizer_core" / "formats" / f"{module}.py").read_text("utf-8")
    taken = set()
    for name in set(re.findall(r'"([A-Z][A-Za-z]+)"', source)) - {"Sequence"}:
        file = folder / "tokenizer.json"
        file.write_text(json.dumps({"model": MODEL, "added_tokens": [], part: {"type": name}}), "utf-8")
        try:
            Tokenizer.from_hf(file)
        except TokdError as error:
            if error.place.get("field") == f"{part}.type":
                continue
        taken.add(name)
    return taken


@pytest.mark.parametrize("part", PARTS)
def test_every_stage_that_is_read_is_on_the_page_and_no_other(part, tmp_path):
    assert set(re.findall(r"\b[A-Z][A-Za-z]+\b", row(part))) - {"Sequence"} == known(part, tmp_path)


def test_every_model_that_is_read_is_on_the_page():
    assert all(re.search(rf"\b{name}\b", row("model")) for name in hf_models._READERS)
