"""What a tokenizer.json may not hold: each refusal has its code and the path of the field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.core.formats.small import BYTE_LEVEL, MERGES, added, changed, document, template, write
from tests.support.data import needs_data, shared, vectors
from tokenizer_core import Tokenizer
from tokenizer_core.errors import TokdError
from tokenizer_core.formats import hf_json


def refusal(tokenizer: Any, directory: Path, **beside: Any) -> tuple[str, str]:
    with pytest.raises(TokdError) as caught:
        hf_json.read(write(directory, tokenizer, **beside))
    return caught.value.code, caught.value.place.get("field", "")


UNSUPPORTED: list[tuple[dict[str, Any], str]] = [
    (changed(dropout=0.5), "model.dropout"),
    (changed(dropout=True), "model.dropout"),
    (changed(surprise=1), "model.surprise"),
    (document(surprise=1), "surprise"),
    (document(version="2.0"), "version"),
    (document(normalizer={"type": "Surprise"}), "normalizer.type"),
    (
        document(normalizer={"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Nmts"}]}),
        "normalizer.normalizers[1].type",
    ),
    (document(normalizer={"type": "NFC", "extra": 1}), "normalizer.extra"),
    (
        document(
            pre_tokenizer={
                "type": "Sequence",
                "pretokenizers": [
                    {"type": "Digits", "individual_digits": True},
                    BYTE_LEVEL | {"add_prefix_space": True},
                ],
            }
        ),
        "pre_tokenizer.pretokenizers[1].add_prefix_space",
    ),
    (document(post_processor={"type": "T5Processing", "sep": ["a", 1], "cls": ["a", 1]}), "post_processor.type"),
    (document(post_processor=template(["A", "A"])), "post_processor.single"),
    (document(post_processor=template(["B"])), "post_processor.single"),
    (
        document(post_processor={"type": "Sequence", "processors": [template(["A"]), template(["A"])]}),
        "post_processor.processors[1]",
    ),
    (document(decoder={"type": "WordPiece"}), "decoder.type"),
    *(
        (document(normalizer={"type": "Replace", "pattern": {kind: ""}, "content": "x"}), "normalizer.pattern")
        for kind in ("String", "Regex")
    ),
    (document(decoder={"type": "Sequence", "decoders": [BYTE_LEVEL, {"type": "Fuse"}]}), "decoder.decoders[1].type"),
    (document(normalizer={"type": "Prepend", "prepend": ""}), "normalizer.prepend"),
]


@pytest.mark.parametrize(("whole", "field"), UNSUPPORTED, ids=lambda value: value if isinstance(value, str) else "")
def test_what_is_not_supported_is_refused_by_name(whole, field, tmp_path):
    assert refusal(whole, tmp_path) == ("unsupported", field)


def without(value: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: item for name, item in value.items() if name != key}


VOCAB = document()["model"]["vocab"]
INVALID: list[tuple[Any, str, str]] = [
    (changed(vocab=VOCAB | {"zzzzq": 7}), "duplicate_id", "model.vocab.zzzzq"),
    (changed(vocab=VOCAB | {"zz zq": 7}), "duplicate_id", 'model.vocab["zz zq"]'),
    (changed(vocab=VOCAB | {"zzzzq": -3}), "id_out_of_range", "model.vocab.zzzzq"),
    (changed(vocab=VOCAB | {"zzzzq": 1.5}), "id_out_of_range", "model.vocab.zzzzq"),
    (changed(vocab=VOCAB | {"zzzzq": 2**31}), "id_out_of_range", "model.vocab.zzzzq"),
    (changed(vocab=VOCAB | {"zzzzq": 2**64}), "id_out_of_range", "model.vocab.zzzzq"),
    (changed(vocab=VOCAB | {"zzzzq": 2**22}), "id_out_of_range", "model.vocab.zzzzq"),
    (changed(vocab=VOCAB | {"zzzzq": "7"}), "invalid_file", "model.vocab.zzzzq"),
    (changed(vocab=VOCAB | {"zzzzq": True}), "invalid_file", "model.vocab.zzzzq"),
    (changed(vocab=VOCAB | {"zzzzq": None}), "invalid_file", "model.vocab.zzzzq"),
    (changed(vocab=VOCAB | {"": 0}), "duplicate_id", 'model.vocab[""]'),
    (changed(vocab=[]), "invalid_file", "model.vocab"),
    (changed(vocab=without(VOCAB, "Ġt")), "merge_out_of_vocab", "model.merges[4]"),
    (changed(vocab={}), "merge_out_of_vocab", "model.merges[0]"),
    (changed(merges=["h e", "h"]), "invalid_file", "model.merges[1]"),
    (changed(merges=["h e", "l l x"]), "invalid_file", "model.merges[1]"),
    (changed(merges=["h e", ["l", "l", "x"]]), "invalid_file", "model.merges[1]"),
    (changed(merges=["h e", ["l"]]), "invalid_file", "model.merges[1]"),
    (changed(merges=["h e", 5]), "invalid_file", "model.merges[1]"),
    (changed(merges=["h e", "l l", "h e"]), "invalid_file", "model.merges[2]"),
    (changed(merges=[*MERGES, "q q"]), "merge_out_of_vocab", "model.merges[8]"),
    (changed(merges={}), "invalid_file", "model.merges"),
    (changed(ignore_merges=1), "invalid_file", "model.ignore_merges"),
    (document(model=[]), "invalid_file", "model"),
    ([], "invalid_file", ""),
    (document(added_tokens=None), "invalid_file", "added_tokens"),
    (document(added_tokens=[added(2**31, "<h>")]), "id_out_of_range", "added_tokens[0].id"),
    (document(added_tokens=[added(2**32, "<h>")]), "id_out_of_range", "added_tokens[0].id"),
    (document(added_tokens=[added(-1, "<h>")]), "id_out_of_range", "added_tokens[0].id"),
    (document(added_tokens=[added(1.0, "<h>")]), "id_out_of_range", "added_tokens[0].id"),
    (document(added_tokens=[added(True, "<h>")]), "id_out_of_range", "added_tokens[0].id"),
    (document(added_tokens=[added("9", "<h>")]), "id_out_of_range", "added_tokens[0].id"),
    (document(added_tokens=[added(300, "a"), added(300, "b")]), "duplicate_id", "added_tokens[1].id"),
    (document(added_tokens=[added(300, "<a>"), added(301, "<a>")]), "duplicate_token", "added_tokens[1].content"),
    (document(added_tokens=[added(300, "hello")]), "id_conflict", "added_tokens[0].id"),
    (document(added_tokens=[added(259, "other")]), "id_conflict", "added_tokens[0].id"),
    (document(added_tokens=[added(300, "")]), "invalid_file", "added_tokens[0].content"),
    (document(added_tokens=[added(300, "x", special=1)]), "invalid_file", "added_tokens[0].special"),
    (document(added_tokens=[without(added(300, "x"), "lstrip")]), "invalid_file", "added_tokens[0].lstrip"),
    (document(added_tokens={}), "invalid_file", "added_tokens"),
    (document(post_processor=template(["s", "A"])), "invalid_file", "post_processor.single[0]"),
    (
        document(post_processor=template(["A"]) | {"special_tokens": {"s": {"id": "s", "ids": [3], "tokens": [3]}}}),
        "invalid_file",
        "post_processor.special_tokens.s.tokens[0]",
    ),
    (
        document(truncation={"direction": "Left", "max_length": -1, "strategy": "LongestFirst", "stride": 0}),
        "invalid_file",
        "truncation.max_length",
    ),
    (document(post_processor=template(["s", "A"], s=[999])), "id_out_of_range", "post_processor"),
    (document(post_processor=template(["A"], ["s", "A", "B"], s=[999])), "id_out_of_range", "post_processor"),
    (document(post_processor=template(["A"], ["A", "B", "s"], s=[2**32 - 1])), "id_out_of_range", "post_processor"),
    (
        document(post_processor=template(["s", "A"], s=[-1])),
        "id_out_of_range",
        "post_processor.special_tokens.s.ids[0]",
    ),
    (
        document(
            padding={
                "strategy": "BatchLongest",
                "direction": "Right",
                "pad_to_multiple_of": None,
                "pad_id": 3,
                "pad_type_id": 0,
                "pad_token": "<|end|>",
            }
        ),
        "id_conflict",
        "padding.pad_id",
    ),
]


@pytest.mark.parametrize(("whole", "code", "field"), INVALID, ids=[f"{code}-{field}" for _, code, field in INVALID])
def test_what_is_wrong_is_refused_with_its_place(whole, code, field, tmp_path):
    assert refusal(whole, tmp_path) == (code, field)


TEXT = json.dumps(document())
BROKEN = {
    "empty": "",
    "trailing data": TEXT + "x",
    "two documents": TEXT + TEXT,
    "cut off": TEXT[:-1],
    "byte order mark": "\ufeff" + TEXT,
    "not a number": TEXT.replace('"dropout": null', '"dropout": NaN'),
    "lone surrogate": TEXT.replace('"1.0"', '"\\ud800"'),
    "brackets": "[" * 200_000,
    "braces": '{"a":' * 200_000,
    "brackets in the model": '{"model":{"vocab":' + "[" * 200_000,
    "brackets in merges": '{"model":{"merges":' + "[" * 200_000,
    "brackets in a stage": '{"normalizer":' + '{"type":"Sequence","normalizers":[' * 100_000,
    "key twice": TEXT.replace('"version"', '"padding": null, "version"', 1),
    "model twice": TEXT.replace('"version"', '"model": {}, "version"', 1),
    "vocab twice": TEXT.replace('"vocab"', '"vocab": {}, "vocab"', 1),
    "flag twice": TEXT.replace('"special"', '"special": true, "special"', 1),
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_what_is_no_proper_json_is_refused(text, tmp_path):
    assert refusal(text, tmp_path)[0] == "invalid_file"


def test_an_entry_that_stands_twice_is_a_duplicate_token(tmp_path):
    text = TEXT.replace('"hello": 259', '"hello": 259, "h\\u0065llo": 259')
    assert refusal(text, tmp_path) == ("duplicate_token", "model.vocab.hello")


def test_other_encodings_are_refused(tmp_path):
    for data in (TEXT.encode("utf-16"), TEXT.encode() + b"\xff", b"\x00" * 100):
        (tmp_path / "tokenizer.json").write_bytes(data)
        with pytest.raises(TokdError) as caught:
            hf_json.read(tmp_path)
        assert caught.value.code == "invalid_file"


def test_files_that_are_no_files_are_refused(tmp_path):
    (tmp_path / "tokenizer.json").mkdir()
    for path in (tmp_path, tmp_path / "tokenizer.json"):
        with pytest.raises(TokdError):
            hf_json.read(path)
    with pytest.raises(TokdError) as caught:
        hf_json.read(tmp_path / "nothing.json")
    assert caught.value.code == "artifact_not_found"
    with pytest.raises(TokdError) as caught:
        hf_json.read("/dev/zero")
    assert caught.value.code == "invalid_file"


def mutated(case: dict[str, Any], gpt2: str) -> str:
    """Apply what a vector does to GPT-2's file."""
    whole = json.loads(gpt2)
    vocab, mutation = case["vocab"], case["input"]
    if isinstance(vocab, dict):
        whole["added_tokens"] += vocab.get("added_tokens", [])
        whole["model"]["dropout"] = vocab.get("model.dropout")
        return json.dumps(whole)
    match mutation["mutation"]:
        case "model.vocab['zzzzq']=-3":
            whole["model"]["vocab"]["zzzzq"] = -3
        case "model.vocab['zzzzq']=7":
            whole["model"]["vocab"]["zzzzq"] = 7
        case "del model.vocab['Ġt']":
            del whole["model"]["vocab"]["Ġt"]
        case "padding Fixed 8":
            whole["padding"] = {
                "strategy": {"Fixed": 8},
                "direction": "Right",
                "pad_to_multiple_of": None,
                "pad_id": 0,
                "pad_type_id": 0,
                "pad_token": "[PAD]",
            }
    return json.dumps(whole)


REJECTED = {
    "art-vocab-neg-id": "id_out_of_range",
    "art-dup-vocab-id": "duplicate_id",
    "art-merge-product-missing": "merge_out_of_vocab",
    "dropout-serving": "unsupported",
    "add-huge-id-2147483648": "id_out_of_range",
    "add-bad-id-4294967296": "id_out_of_range",
    "add-dup-id": "duplicate_id",
    "add-id-conflict-vocab": "id_conflict",
}


@needs_data
@pytest.mark.parametrize("id", REJECTED)
def test_vectors_of_broken_files_are_refused(id, tmp_path):
    case = next(case for case in vectors() if case["id"] == id)
    gpt2 = shared("vocabs/gpt2_tokenizer.json").read_text("utf-8")
    assert refusal(mutated(case, gpt2), tmp_path)[0] == REJECTED[id]


@pytest.mark.parametrize(
    ("length", "number", "refused"), [(257, 1, 0), (256, 32769, 32768)], ids=["one", "all together"]
)
def test_absurdly_long_literals_are_refused_before_a_search_for_them_is_made(
    length: int, number: int, refused: int, tmp_path: Path
) -> None:
    tokens = [added(300 + index, f"{index:0{length}}") for index in range(number)]
    found = refusal(document(added_tokens=tokens), tmp_path)
    assert found == ("invalid_file", f"added_tokens[{refused}].content")


@needs_data
def test_the_vector_of_padding_pads_nothing(tmp_path):
    case = next(case for case in vectors() if case["id"] == "art-padding")
    gpt2 = shared("vocabs/gpt2_tokenizer.json").read_text("utf-8")
    tokenizer = Tokenizer.from_hf(write(tmp_path, mutated(case, gpt2)))
    assert tokenizer.encode("hello").tolist() == [31373]


def test_a_name_that_no_file_can_have_is_refused():
    with pytest.raises(TokdError) as caught:
        hf_json.read("x" * 5000)
    assert caught.value.code == "invalid_file"
