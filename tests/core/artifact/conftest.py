"""An artifact that is written, and what it is made of."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.formats.small import document, write
from tokenizer_core import artifact
from tokenizer_core.config import TokenizerParts
from tokenizer_core.formats import hf_json

TEMPLATE = "{% for m in messages %}{{ m.content }}{% endfor %}"


@pytest.fixture
def parts(tmp_path: Path) -> TokenizerParts:
    config = {"chat_template": TEMPLATE, "eos_token": "<|end|>", "padding_side": "left"}
    return hf_json.read(write(tmp_path / "source", document(), tokenizer_config__json=config))


@pytest.fixture
def saved(parts: TokenizerParts, tmp_path: Path) -> Path:
    artifact.write(parts, tmp_path / "saved")
    return tmp_path / "saved"
