"""Added tokens of GGUF files: where they are found, and the white space that they take.

The ids are those of llama.cpp (its ``llama_tokenize``, build of October 2026) for the same files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.core.formats.test_gguf import KEYS, TOKENS, load, written
from tests.core.formats.test_gguf_sentencepiece import GGML, keys_of
from tests.support.data import needs_data, shared
from tokenizer_core import Tokenizer

USER_DEFINED, CONTROL = 4, 3
MARKERS = (("<|user|>", CONTROL), ("<|end|>", CONTROL), ("<|endoftext|>", CONTROL), ("<x>", USER_DEFINED))


def extended(
    tmp_path: Path, name: str, model: str, added: tuple[tuple[str, int], ...], score: float = -1000.0, **keys: Any
) -> Tokenizer:
    """Load a golden model with tokens behind its pieces, as a converter writes it."""
    found = keys_of(shared(f"families/{name}") / "tokenizer.model")
    found["tokens"] += [literal for literal, _ in added]
    found["scores"] += [score] * len(added)
    found["token_type"] += [kind for _, kind in added]
    general = {key: keys.pop(key) for key in ("general.architecture", "general.name") if key in keys}
    kept = {f"{GGML}{key}": value for key, value in {**found, **keys}.items()}
    return load(tmp_path, written({f"{GGML}model": model, **general, **kept}))


def ids(tokenizer: Tokenizer, text: str) -> list[int]:
    return tokenizer.encode(text, special_tokens="parse").tolist()


@needs_data
@pytest.mark.parametrize("score", [-1000.0, 0.0])
def test_a_token_added_to_a_llama_is_found_before_the_spaces_are_put(score: float, tmp_path: Path) -> None:
    tokenizer = extended(
        tmp_path, "spm-bpe-llama2", "llama", (("<tool_call>", USER_DEFINED), ("a b", USER_DEFINED)), score
    )
    truth = {
        "a<tool_call>b": [265, 4000, 293],
        "<tool_call>the": [4000, 268],
        "a <tool_call> b": [265, 2898, 4000, 259, 2920],
        "<tool_call><s>": [4000, 1],
        "a bthe": [4001, 268],
    }
    assert {text: ids(tokenizer, text) for text in truth} == truth
    assert tokenizer.decode([4000, 4001]) == "<tool_call>a b"
    tokenizer.save(tmp_path / "saved")
    again = Tokenizer.open(tmp_path / "saved")
    assert (again.hash, ids(again, "a<tool_call>b")) == (tokenizer.hash, [265, 4000, 293])


@needs_data
def test_a_token_added_to_a_t5_is_found_before_the_spaces_are_put(tmp_path: Path) -> None:
    extra = tuple((f"<extra_id_{number}>", USER_DEFINED) for number in range(9, -1, -1))
    tokenizer = extended(tmp_path, "spm-unigram-identity", "t5", extra, add_space_prefix=True)
    truth = {"<extra_id_0>the tide": [4009, 261, 259, 600, 284], "a<extra_id_9>b": [272, 4000, 259, 459]}
    assert {text: ids(tokenizer, text) for text in truth} == truth


@needs_data
def test_a_piece_that_a_converter_replaced_is_an_added_token(tmp_path: Path) -> None:
    keys = keys_of(shared("families/spm-bpe-llama2") / "tokenizer.model")
    for key, value in {"tokens": "<mid>", "scores": -1000.0, "token_type": USER_DEFINED}.items():
        keys[key][3500] = value
    kept = {f"{GGML}{key}": value for key, value in keys.items()}
    tokenizer = load(tmp_path, written({f"{GGML}model": "llama", **kept}))
    assert ids(tokenizer, "a<mid>the") == [265, 3500, 268]


@needs_data
@pytest.mark.parametrize("name", ["My PHI-3 mini", "phi3"])
def test_the_markers_of_phi_3_take_the_white_space_behind_them(name: str, tmp_path: Path) -> None:
    truth = {
        "<|user|>\n the<|end|> \n<|endoftext|> a": [4000, 268, 4001, 4002, 259, 2902],
        "<x>  a</s> b<s> a": [4003, 265, 2, 293, 1, 259, 2902],
    }
    tokenizer = extended(tmp_path, "spm-bpe-llama2", "llama", MARKERS, **{"general.name": name})
    assert {text: ids(tokenizer, text) for text in truth} == truth
    tokenizer.save(tmp_path / "saved")
    assert ids(Tokenizer.open(tmp_path / "saved"), "<|user|>\n the") == [4000, 268]
    other = extended(tmp_path, "spm-bpe-llama2", "llama", MARKERS, **{"general.name": "phi-4"})
    assert ids(other, "<|user|> the<x> a") == [4000, 259, 1696, 4003, 259, 2902]


@needs_data
def test_the_vocabulary_of_phi_3_itself() -> None:
    tokenizer = Tokenizer.load(shared("gguf/ggml-vocab-phi-3.gguf"))
    assert ids(tokenizer, "<|user|>\nHello<|end|>\n<|assistant|>\n") == [32010, 15043, 32007, 32001]


@needs_data
@pytest.mark.parametrize(
    ("architecture", "takes"), [("nomic-bert-moe", True), ("jina-bert-v3", True), ("nomic-bert", False)]
)
def test_the_mask_of_an_architecture_takes_the_white_space_before_it(
    architecture: str, takes: bool, tmp_path: Path
) -> None:
    keys = {"general.architecture": architecture, "add_space_prefix": True}
    tokenizer = extended(tmp_path, "spm-unigram-identity", "t5", (("<mask>", CONTROL),), **keys)
    assert ids(tokenizer, "the <mask> a") == [261, *([] if takes else [259]), 4000, 259, 272]


@pytest.mark.parametrize(
    ("changes", "literal", "takes"),
    [
        ({"tokenizer.ggml.pre": "jina-v2-de"}, "<mask>", True),
        ({"tokenizer.ggml.pre": "jina-v2-es"}, "<mask>", True),
        ({"tokenizer.ggml.pre": "jina-v2-code"}, "<mask>", True),
        ({"tokenizer.ggml.pre": "gpt-2"}, "<mask>", False),
        ({"general.name": "Modern-BERT base"}, "[MASK]", True),
        ({"general.name": "Modern-BERT base"}, "<mask>", False),
        ({"tokenizer.ggml.pre": "modern-bert", "general.name": "ModernBERT base"}, "[MASK]", True),
        ({"tokenizer.ggml.pre": "jina-v2-de", "general.name": "phi-3"}, "<unused>", False),
    ],
)
def test_a_mask_of_a_byte_level_model_takes_the_white_space_before_it(
    changes: dict[str, Any], literal: str, takes: bool, tmp_path: Path
) -> None:
    tokens = [literal if token == "<user>" else token for token in TOKENS]
    found = load(tmp_path, written({**KEYS, "tokenizer.ggml.tokens": tokens, **changes}))
    space, mask = TOKENS.index("\u0120"), tokens.index(literal)
    assert ids(found, f"he {literal}h")[1:3] == ([mask, TOKENS.index("h")] if takes else [space, mask])
