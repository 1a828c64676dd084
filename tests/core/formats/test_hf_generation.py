"""A model's generation_config.json goes into its artifact, and changes neither an id nor the tokenizer's hash."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.core.formats.small import document, write
from tokenizer_core import Tokenizer, artifact
from tokenizer_core.config import Settings
from tokenizer_core.errors import HashMismatch, InvalidArtifact, InvalidOption
from tokenizer_core.formats import hf_json

QWEN3 = {"temperature": 0.6, "top_k": 20, "eos_token_id": [5, 3], "transformers_version": "4.51.0", "max_new_tokens": 9}


def test_it_is_kept_whole_and_pinned(tmp_path: Path) -> None:
    plain = hf_json.read(write(tmp_path / "plain", document()))
    parts = hf_json.read(write(tmp_path / "model", document(), generation_config__json=QWEN3))
    assert {key: json.loads(text) for key, text in parts.settings.generation} == QWEN3
    assert artifact.tokenizer_hash(parts) == artifact.tokenizer_hash(plain)
    artifact.write(parts, tmp_path / "artifact")
    written = tmp_path / "artifact" / "generation_config.json"
    assert json.loads(written.read_bytes()) == QWEN3
    assert Tokenizer.open(tmp_path / "artifact").settings.generation == parts.settings.generation
    artifact.write(artifact.read(tmp_path / "artifact"), tmp_path / "again")
    assert (tmp_path / "again" / written.name).read_bytes() == written.read_bytes()
    written.write_bytes(written.read_bytes().replace(b"0.6", b"0.7"))
    with pytest.raises(HashMismatch) as caught:
        artifact.read(tmp_path / "artifact")
    assert caught.value.place["field"] == written.name
    artifact.write(plain, tmp_path / "without")
    assert not (tmp_path / "without" / written.name).exists()


WRONG: list[tuple[Any, str]] = [
    ({"temperature": "hot"}, "generation_config.json.temperature"),
    ({"top_p": True}, "generation_config.json.top_p"),
    ({"top_k": 1.5}, "generation_config.json.top_k"),
    ({"max_new_tokens": 10**30}, "generation_config.json.max_new_tokens"),
    ({"stop_token_ids": 7}, "generation_config.json.stop_token_ids"),
    ({"stop_token_ids": [7, "8"]}, "generation_config.json.stop_token_ids"),
    ({"top_p": 10**400}, "generation_config.json.top_p"),
    ([], "generation_config.json"),
]


@pytest.mark.parametrize(("content", "field"), WRONG, ids=str)
def test_a_value_that_requests_inherit_has_its_type(tmp_path: Path, content: Any, field: str) -> None:
    with pytest.raises(InvalidArtifact) as caught:
        hf_json.read(write(tmp_path, document(), generation_config__json=content))
    assert caught.value.place["field"] == field


def test_settings_hold_json_text_by_key() -> None:
    for wrong in ((("temperature", "{"),), (("temperature",),), (("temperature", 1),)):
        with pytest.raises(InvalidOption):
            Settings(generation=wrong)  # type: ignore[arg-type]


LENGTHS: list[tuple[dict[str, Any], int | None, int | None]] = [
    ({"max_position_embeddings": 40960}, 131_072, 40_960),
    ({"max_position_embeddings": 40960}, 512, 512),
    ({"max_position_embeddings": 40960}, None, 40_960),
    ({}, 131_072, 131_072),
    ({"text_config": {"max_position_embeddings": 300}, "max_position_embeddings": 9}, None, 300),
    ({"n_positions": 1024}, None, 1024),
    ({"max_position_embeddings": 100, "rope_scaling": {"rope_type": "linear", "factor": 4.0}}, None, 400),
    ({"max_position_embeddings": 400, "rope_scaling": {"rope_type": "yarn", "factor": 4.0}}, None, 400),
    (
        {
            "max_position_embeddings": 131_072,
            "original_max_position_embeddings": 4096,
            "rope_scaling": {"type": "longrope"},
        },
        None,
        4096,
    ),
    ({"max_position_embeddings": "many"}, None, None),
]


@pytest.mark.parametrize(("config", "said", "length"), LENGTHS)
def test_the_length_of_a_model_is_that_of_vllm(
    tmp_path: Path, config: dict[str, Any], said: int | None, length: int | None
) -> None:
    own = {} if said is None else {"tokenizer_config__json": {"model_max_length": said}}
    parts = hf_json.read(write(tmp_path / "model", document(), config__json=config, **own))
    assert parts.settings.model_length == length
    assert parts.settings.model_max_length == said
    artifact.write(parts, tmp_path / "artifact")
    assert Tokenizer.open(tmp_path / "artifact").settings.model_length == length
