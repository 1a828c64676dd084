"""Keys of the files beside a SentencePiece model: each is followed, or refused by name.

The ids are those of the fast class of transformers 4.57.6 for the same directory, and of 5.24.0 where a key says what
``legacy`` is.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.data import needs_data
from tests.support.sentencepiece_models import (
    BPE,
    META,
    NORMAL,
    USER_DEFINED,
    charsmap,
    model,
    real,
    write,
)
from tokenizer_core import InvalidArtifact, TokdError, Tokenizer, Unsupported
from tokenizer_core.formats.sentencepiece_classes import CONVERSIONS, FIXED, PLAIN

LLAMA = "LlamaTokenizer"
PIECES = [*META, ("\u2581", -9.0, NORMAL), ("a", -9.0, NORMAL), ("b", -9.0, NORMAL), ("\u2581a", -1.0, NORMAL)]


def directory(folder: Path, data: bytes, config: dict[str, Any], **files: Any) -> Path:
    write(folder / "tokenizer.model", data)
    for name, content in {"tokenizer_config": config, **files}.items():
        (folder / f"{name}.json").write_text(json.dumps(content), "utf-8")
    return folder


def ids(tokenizer: Tokenizer, text: str) -> list[int]:
    return tokenizer.encode(text, special_tokens="parse").tolist()


LEGACY = {
    "a</s>tide": [265, 2, 262, 632],
    "the tide": [268, 262, 632],
    " tide": [259, 2900, 632],
    "  the</s> tide": [259, 268, 2, 259, 2900, 632],
    "</s>the": [2, 268],
    "\u2581the": [259, 1696],
    "a<unk>the": [265, 0, 268],
}
FIRST = {
    "a</s>tide": [265, 2, 2900, 632],
    "the tide": [268, 262, 632],
    " tide": [262, 632],
    "  the</s> tide": [259, 1696, 2, 262, 632],
    "</s>the": [2, 1696],
    "\u2581the": [268],
    "a<unk>the": [265, 0, 1696],
}
NEVER = {**FIRST, "a</s>tide": [2902, 2, 2900, 632], "the tide": [1696, 262, 632], "a<unk>the": [2902, 0, 1696]}
SAID: list[tuple[dict[str, Any], dict[str, list[int]]]] = [
    ({}, LEGACY),
    ({"legacy": None, "add_prefix_space": None}, LEGACY),
    ({"legacy": True, "add_prefix_space": True}, LEGACY),
    ({"legacy": False}, FIRST),
    ({"legacy": False, "add_prefix_space": True}, FIRST),
    ({"add_prefix_space": False}, NEVER),
    ({"legacy": False, "add_prefix_space": False}, NEVER),
]


@needs_data
@pytest.mark.parametrize("named", [{"tokenizer_class": LLAMA}, {"tokenizer_class": f"{LLAMA}Fast"}, {}])
@pytest.mark.parametrize(("said", "truth"), SAID)
def test_llama_puts_the_space_where_its_settings_say(
    said: dict[str, Any], truth: dict[str, list[int]], named: dict[str, str], tmp_path: Path
) -> None:
    tokenizer = Tokenizer.load(directory(tmp_path, real("spm-bpe-llama2"), named | said))
    tokenizer.save(tmp_path / "saved")
    for one in (tokenizer, Tokenizer.open(tmp_path / "saved")):
        assert {text: ids(one, text) for text in truth} == truth


@needs_data
def test_text_is_decoded_as_it_was_encoded(tmp_path: Path) -> None:
    for said, truth in (({"legacy": False}, "tide"), ({"add_prefix_space": False}, " tide")):
        config = {"tokenizer_class": LLAMA, **said}
        assert Tokenizer.load(directory(tmp_path, real("spm-bpe-llama2"), config)).decode([262, 632]) == truth


def test_symbols_of_the_model_are_added_tokens_of_a_llama_that_is_not_legacy(tmp_path: Path) -> None:
    data = model([*PIECES, ("<x>", 0.0, USER_DEFINED)], kind=BPE, fold=False)
    config = {"tokenizer_class": LLAMA}
    assert ids(Tokenizer.load(directory(tmp_path, data, config)), "<x>a") == [3, 7, 4]
    assert ids(Tokenizer.load(directory(tmp_path, data, config | {"legacy": False})), "<x>a") == [7, 4]


@pytest.mark.parametrize("key", ["legacy", "add_prefix_space"])
def test_a_llama_that_rewrites_text_or_drops_spaces_keeps_the_way_of_the_model(key: str, tmp_path: Path) -> None:
    for data in (model(PIECES, kind=BPE), model(PIECES, kind=BPE, fold=False, charsmap=charsmap())):
        with pytest.raises(Unsupported, match=f"{key} is false") as caught:
            Tokenizer.load(directory(tmp_path, data, {"tokenizer_class": LLAMA, key: False}))
        assert caught.value.place["field"] == f"tokenizer_config.json.{key}"


def test_a_flag_that_is_none_is_refused(tmp_path: Path) -> None:
    for key in ("legacy", "add_prefix_space"):
        with pytest.raises(InvalidArtifact, match=key):
            Tokenizer.load(directory(tmp_path, model(PIECES, kind=BPE), {"tokenizer_class": LLAMA, key: "no"}))


REFUSED = [
    *((kind, "sp_model_kwargs", {"enable_sampling": True}) for kind in (*PLAIN, *CONVERSIONS)),
    *((kind, "split_special_tokens", True) for kind in (*PLAIN, *CONVERSIONS)),
    *((kind, key, not values[-1]) for kind, table in FIXED.items() for key, values in table.items()),
]


@pytest.mark.parametrize(("kind", "key", "value"), REFUSED)
def test_a_setting_that_is_not_followed_is_refused_by_name(kind: str, key: str, value: object, tmp_path: Path) -> None:
    with pytest.raises(Unsupported) as caught:
        Tokenizer.load(directory(tmp_path, model(PIECES), {"tokenizer_class": f"{kind}Tokenizer", key: value}))
    assert caught.value.place["field"] == f"tokenizer_config.json.{key}"


@pytest.mark.parametrize("kind", PLAIN)
def test_a_setting_that_says_what_is_done_anyway_is_not_refused(kind: str, tmp_path: Path) -> None:
    said = {key: values[-1] for key, values in FIXED.get(kind, {}).items()}
    said |= {"sp_model_kwargs": {}, "split_special_tokens": False, "use_default_system_prompt": True}
    data = model(PIECES, kind=BPE)
    assert ids(Tokenizer.load(directory(tmp_path, data, {"tokenizer_class": f"{kind}Tokenizer"} | said)), "ab") == [
        6,
        5,
    ]


ADDED = {"<pad>": 4001, "<tool_call>": 4000}


@needs_data
@pytest.mark.parametrize(
    ("config", "tokens_map", "special"),
    [
        ({}, {}, set()),
        ({"pad_token": "<pad>"}, {}, {"<pad>"}),
        ({}, {"pad_token": {"content": "<pad>"}, "additional_special_tokens": ["<tool_call>"]}, set(ADDED)),
    ],
)
def test_added_tokens_json_lists_added_tokens(
    config: dict[str, Any], tokens_map: dict[str, Any], special: set[str], tmp_path: Path
) -> None:
    config = {"tokenizer_class": LLAMA, **config}
    files = {"added_tokens": ADDED, "special_tokens_map": tokens_map}
    tokenizer = Tokenizer.load(directory(tmp_path, real("spm-bpe-llama2"), config, **files))
    # llama.cpp and transformers' LlamaTokenizer that is not fast; the fast one of 4.57 loses the token behind a letter.
    assert ids(tokenizer, "a<tool_call>b") == [265, 4000, 293]
    assert ids(tokenizer, "<pad>the tide") == [4001, 268, 262, 632]
    assert special == set(ADDED) & tokenizer.special_tokens.keys()
    tokenizer.save(tmp_path / "saved")
    assert Tokenizer.open(tmp_path / "saved").hash == tokenizer.hash


@needs_data
def test_added_tokens_json_beside_a_model_that_is_converted(tmp_path: Path) -> None:
    config = {"tokenizer_class": "XLMRobertaTokenizer"}
    data = real("spm-unigram-nmt_nfkc")
    tokenizer = Tokenizer.load(directory(tmp_path, data, config, added_tokens={"<tool_call>": 4002}))
    assert ids(tokenizer, "a<tool_call>b") == [13, 4002, 4, 208]
    assert ids(tokenizer, "a <tool_call> b") == [13, 4, 4002, 4, 208]
    with pytest.raises(TokdError) as caught:
        Tokenizer.load(directory(tmp_path, data, config, added_tokens={"<tool_call>": 4050}))
    assert (caught.value.code, caught.value.place["field"]) == ("id_conflict", "added_tokens.json.<tool_call>")


def test_a_token_that_is_only_named_gets_the_id_of_its_piece_or_the_next_one(tmp_path: Path) -> None:
    config = {
        "tokenizer_class": LLAMA,
        "pad_token": "<pad>",
        "mask_token": "\u2581a",
        "additional_special_tokens": ["<x>", {"content": "<y>", "lstrip": True}],
        "extra_special_tokens": {"image_token": "<z>"},
    }
    tokenizer = Tokenizer.load(directory(tmp_path, model(PIECES, kind=BPE, fold=False), config))
    truth = {"<unk>": 0, "<s>": 1, "</s>": 2, "\u2581a": 6, "<pad>": 7, "<x>": 8, "<y>": 9, "<z>": 10}
    assert tokenizer.special_tokens == truth
    assert ids(tokenizer, "b <y>") == [3, 5, 9]
    with pytest.raises(InvalidArtifact, match="names '<pad>'"):
        Tokenizer.load(directory(tmp_path, model(PIECES, kind=BPE), config | {"tokenizer_class": "T5Tokenizer"}))


@pytest.mark.parametrize(
    ("added", "code", "field"),
    [
        ({"<x>": 4}, "id_conflict", "added_tokens.json.<x>"),
        ({"<x>": "7"}, "id_out_of_range", "added_tokens.json.<x>"),
        ({"<x>": -1}, "id_out_of_range", "added_tokens.json.<x>"),
        ([], "invalid_file", "added_tokens.json"),
    ],
)
def test_added_tokens_json_that_cannot_be_is_refused_with_its_place(
    added: Any, code: str, field: str, tmp_path: Path
) -> None:
    with pytest.raises(TokdError) as caught:
        Tokenizer.load(directory(tmp_path, model(PIECES, kind=BPE), {"tokenizer_class": LLAMA}, added_tokens=added))
    assert (caught.value.code, caught.value.place["field"]) == (code, field)
    assert "tokenizer.json" not in str(caught.value)


def test_two_lists_of_added_tokens_must_agree(tmp_path: Path) -> None:
    rest = dict.fromkeys(("special", "lstrip", "rstrip", "single_word", "normalized"), False)
    config = {"tokenizer_class": LLAMA, "added_tokens_decoder": {"7": {"content": "<x>", **rest}}}
    data = model(PIECES, kind=BPE)
    assert ids(Tokenizer.load(directory(tmp_path, data, config, added_tokens={"<x>": 7})), "<x>") == [7]
    with pytest.raises(InvalidArtifact, match="not an added token of the tokenizer"):
        Tokenizer.load(directory(tmp_path, data, config, added_tokens={"<x>": 7, "<y>": 8}))
