"""A vocabulary without tokens for some bytes loads; a text that needs one is refused with its place, in every way."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tests.core.formats.small import added, changed, document, write
from tests.support.data import needs_data, shared
from tokenizer_core import Tokenizer, UncoveredText, Unsupported, check, to_tiktoken

VOCAB = document()["model"]["vocab"]


def without(tmp_path, *entries: str, **changes: Any) -> Tokenizer:
    """Load a vocabulary that lacks the entries."""
    kept = {entry: id for entry, id in VOCAB.items() if entry not in entries}
    literals = {token["content"]: token["id"] for token in (document() | changes)["added_tokens"]}
    return Tokenizer.from_hf(write(tmp_path / "hf", changed(vocab=kept | literals) | changes))


def test_text_without_the_byte_is_encoded_as_with_a_whole_vocabulary(tmp_path):
    whole = Tokenizer.from_hf(write(tmp_path / "whole", document()))
    holey = without(tmp_path, "!", "ñ")
    for text in ("hello the é", "", "a" * 5000, "\U0001f600"):
        assert holey.encode(text).tolist() == whole.encode(text).tolist()
        assert holey.count(text) == whole.count(text)
        assert holey.decode(holey.encode(text)) == text
    assert holey.parts.vocabulary.missing_bytes == b"!\xf1"
    assert holey.hash != whole.hash


WAYS = {
    "encode": lambda tok, text: tok.encode(text),
    "count": lambda tok, text: tok.count(text),
    "offsets": lambda tok, text: tok.offsets(text),
    "batch": lambda tok, text: tok.encode_batch(["fine", text]),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_text_that_needs_the_byte_is_refused_with_its_place(way, tmp_path):
    holey = without(tmp_path, "ñ")
    with pytest.raises(UncoveredText) as caught:
        way(holey, "é \U00041234 x")
    assert (caught.value.place["span"], caught.value.place["unit"]) == ([2, 3], "char")
    assert "0xF1" in caught.value.message


def test_an_added_token_may_hold_the_byte_and_a_normalizer_may_remove_it(tmp_path):
    holey = without(tmp_path, "!", added_tokens=[added(264, "<!>")], normalizer={"type": "Lowercase"})
    assert holey.encode("he<!>", special_tokens="parse").tolist() == [VOCAB["he"], 264]
    with pytest.raises(UncoveredText):
        holey.encode("he<!>", special_tokens="text")
    replaced = {"type": "Replace", "pattern": {"String": "!"}, "content": "."}
    assert without(tmp_path, "!", normalizer=replaced).encode("!").tolist() == [VOCAB["."]]
    made = {"type": "Replace", "pattern": {"String": "."}, "content": "!"}
    with pytest.raises(UncoveredText) as caught:
        without(tmp_path, "!", normalizer=made).encode("he.")
    assert caught.value.place["span"] == [2, 3]


def test_no_id_stands_for_a_missing_byte(tmp_path):
    holey = without(tmp_path, "!")
    assert holey.vocab_size == 265
    assert b"!" not in {holey.parts.vocabulary.token_bytes(id) for id in range(holey.vocab_size)}
    holey.save(tmp_path / "saved")
    assert Tokenizer.open(tmp_path / "saved").hash == holey.hash
    with pytest.raises(Unsupported, match="0x21"):
        to_tiktoken(holey.parts)


def test_the_audit_names_the_missing_bytes(tmp_path):
    report = check(without(tmp_path, "ñ"))
    point = next(point for point in report.points if point.name == "round trip")
    assert point.status == "passed"
    assert point.evidence["missing_bytes"] == ["0xF1"]
    assert "0xF1" in point.summary
    assert all(point.evidence.get("code") != "uncovered_text" for point in report.points)


@needs_data
@pytest.mark.parametrize("name", ["hf-bytelevel-deepseek", "hf-bytelevel-roberta-no-alphabet"])
def test_the_golden_cases_are_equal_or_need_a_missing_byte(name):
    """Hugging Face drops a byte that has no token; pairs come with the other families."""
    ours = Tokenizer.load(shared(f"families/{name}"))
    missing, refused = set(ours.parts.vocabulary.missing_bytes), 0
    for line in shared(f"families/{name}/cases.jsonl").read_text("utf-8").splitlines():
        case = json.loads(line)
        if "pair" in case:
            continue
        if set(case["text"].encode()) & missing:
            refused += 1
            with pytest.raises(UncoveredText) as caught:
                ours.encode(case["text"], special_tokens="parse")
            start, end = caught.value.place["span"]
            assert set(case["text"][start:end].encode()) & missing
            continue
        framed = ours.encode(case["text"], special_tokens="parse", add_special_tokens=True)
        assert ours.encode(case["text"], special_tokens="parse").tolist() == case["ids"], case["text"]
        assert framed.tolist() == case["ids_with_special"]
        assert ours.decode(np.array(case["ids"], np.uint32), skip_special_tokens=True) == case["decoded"]
    assert (refused > 0) == bool(missing)
