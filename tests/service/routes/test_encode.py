"""``/encode`` and ``/count``: every option against a slow truth, and every answer against its model."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st

from service.schemas.answers import CountAnswer, EncodeAnswer
from service.schemas.inline import INLINE_ITEMS
from tests.service.conftest import SPECIALS, MakeClient
from tests.service.problems import assert_problem
from tokenizer_core import Tokenizer

PARTS = ("ids", "count", "tokens", "spans", "attention_mask", "special_tokens_mask", "position_ids", "labels")
TEXTS = ["the quick brown fox", "", "naïve 🙂👍🏽 café", "a", "the dog sleeps on while the fox runs\n" * 3]


def shaped_slowly(tokenizer: Tokenizer, texts: list[str], options: dict[str, Any]) -> list[dict[str, Any]]:
    """Build what ``/encode`` answers out of lists, one token at a time; None for what the tokenizer cannot do."""
    framed = options.get("add_special_tokens", True)
    prefix, suffix = (tokenizer.config.prefix_ids, tokenizer.config.suffix_ids) if framed else ((), ())
    rows = []
    for text in texts:
        plain = tokenizer.offsets(text, special_tokens=options.get("special_tokens", "reject"))
        tokens = [(int(id), tuple(map(int, span)), 0) for id, span in zip(plain.ids, plain.spans, strict=True)]
        if options.get("max_length") is not None:
            room = options["max_length"] - len(prefix) - len(suffix)
            side = options.get("truncation_side") or tokenizer.settings.truncation_side
            tokens = tokens[max(0, len(tokens) - room) :] if side == "left" else tokens[:room]
        end = (len(text), len(text))
        rows.append([(id, (0, 0), 1) for id in prefix] + tokens + [(id, end, 1) for id in suffix])
    width = 0
    if options.get("padding", "none") != "none":
        width = options["max_length"] if options["padding"] == "max_length" else max(map(len, rows), default=0)
        multiple = options.get("pad_to_multiple_of") or 1
        width = -(-width // multiple) * multiple
    side = options.get("padding_side") or tokenizer.settings.padding_side
    answers = []
    for row in rows:
        missing = max(0, width - len(row))
        left, right = (missing, 0) if side == "left" else (0, missing)
        pad = tokenizer.pad_id
        answers.append(
            {
                "ids": [pad] * left + [id for id, _, _ in row] + [pad] * right,
                "count": len(row),
                "tokens": [tokenizer.decode([id]) for id in [pad] * left + [id for id, _, _ in row] + [pad] * right],
                "spans": [[0, 0]] * left + [list(span) for _, span, _ in row] + [[0, 0]] * right,
                "attention_mask": [0] * left + [1] * len(row) + [0] * right,
                "special_tokens_mask": [1] * left + [special for _, _, special in row] + [1] * right,
                "position_ids": [0] * left + list(range(len(row))) + [0] * right,
                "labels": [-100] * left + [id for id, _, _ in row] + [-100] * right,
            }
        )
    return answers


def options() -> list[dict[str, Any]]:
    """Give every combination that makes a difference."""
    axes: dict[str, list[Any]] = {
        "add_special_tokens": [True, False],
        "max_length": [None, 2, 5, 16],
        "truncation_side": [None, "left", "right"],
        "padding": ["none", "longest", "max_length"],
        "padding_side": [None, "left", "right"],
        "pad_to_multiple_of": [None, 1, 8],
    }
    combined = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    return [each for each in combined if _is_possible(each)]


def _is_possible(option: dict[str, Any]) -> bool:
    length, multiple = option["max_length"], option["pad_to_multiple_of"]
    if option["padding"] == "none":
        return multiple is None and option["padding_side"] is None
    if length is None:
        return option["padding"] == "longest" and option["truncation_side"] is None
    return not length % (multiple or 1)


def test_every_option_gives_what_the_slow_way_gives(client: TestClient, framed: Tokenizer) -> None:
    tried = 0
    for option in options():
        expected = shaped_slowly(framed, TEXTS, option)
        answer = client.post("/encode", json={"text": TEXTS, "return": PARTS, **option})
        assert answer.status_code == 200, (option, answer.text)
        body = answer.json()
        EncodeAnswer.model_validate(body)
        assert body["tokenizer"] == framed.hash
        assert {part: body[part] for part in PARTS} == {part: [row[part] for row in expected] for part in PARTS}, option
        tried += 1
    assert tried > 100


@pytest.mark.parametrize("option", ["truncation_side", "padding_side"])
def test_sides_are_those_of_the_tokenizer_unless_told_otherwise(
    make_client: MakeClient, framed: Tokenizer, tmp_path: Path, option: Literal["truncation_side", "padding_side"]
) -> None:
    chosen = replace(framed.settings, **{option: "left"})
    framed.with_parts(replace(framed.parts, settings=chosen)).save(tmp_path / "left")
    client = make_client(artifacts=(str(tmp_path / "left"),))
    short, long = {"role": "user", "content": "fox"}, {"role": "user", "content": "the quick brown fox"}
    for subject in ({"text": ["fox", "the quick brown fox"]}, {"messages": [[short], [long]]}):
        body = {**subject, "padding": "longest", **({"max_length": 7} if option == "truncation_side" else {})}
        default, left, right = (
            client.post("/encode", json=body | told).json()["ids"] for told in ({}, {option: "left"}, {option: "right"})
        )
        assert default == left != right


@pytest.mark.parametrize(
    "subject", [{"text": ["fox", "the quick brown fox"]}, {"messages": [[{"role": "user", "content": "fox"}]]}]
)
@pytest.mark.parametrize("pad_token", SPECIALS)
def test_a_request_may_name_any_added_token_to_pad_with(
    client: TestClient, framed: Tokenizer, bare: Tokenizer, subject: dict[str, Any], pad_token: str
) -> None:
    for tokenizer in (framed, bare):
        if "messages" in subject and tokenizer is bare:
            continue
        body = {
            **subject,
            "tokenizer": tokenizer.name,
            "padding": "max_length",
            "max_length": 24,
            "return": ["ids", "count"],
        }
        answer = client.post("/encode", json={**body, "pad_token": pad_token}).json()
        for ids, count in zip(answer["ids"], answer["count"], strict=True):
            assert count < len(ids) == 24
            assert ids[count:] == [tokenizer.special_tokens[pad_token]] * (24 - count)


def test_who_cannot_pad_is_told_both_ways_out(client: TestClient) -> None:
    body = {"text": ["a", "a b"], "tokenizer": "bare", "padding": "longest"}
    problem = assert_problem(client.post("/encode", json=body), "invalid_option", "padding")
    assert "pad_token" in problem["detail"]
    assert "tokd import --pad-token" in problem["detail"]
    for padding in ("longest", "none"):
        wrong = {**body, "padding": padding, "pad_token": "<|pad>"}
        problem = assert_problem(client.post("/encode", json=wrong), "invalid_option", "pad_token")
        assert "did you mean '<|pad|>'?" in problem["detail"]


@pytest.mark.parametrize("text", TEXTS)
def test_single_text_gives_the_row_of_a_list_of_one(client: TestClient, text: str) -> None:
    for option in options()[::7]:
        body = {"return": PARTS, **option}
        single = client.post("/encode", json={"text": text, **body}).json()
        listed = client.post("/encode", json={"text": [text], **body}).json()
        assert single == {name: value if name == "tokenizer" else value[0] for name, value in listed.items()}


@pytest.mark.parametrize("parts", [["ids"], ["count"], ["labels", "ids"], [], ["ids", "ids"], ["spans", "tokens"]])
def test_answer_holds_what_was_asked_for_and_no_more(client: TestClient, parts: list[str]) -> None:
    for text in ("the fox", ["the fox", "a"]):
        answer = client.post("/encode", json={"text": text, "return": parts}).json()
        assert set(answer) == {"tokenizer", *parts}


def test_ready_bytes_equal_the_shaped_answer(client: TestClient) -> None:
    """The fast way for ids and count alone, and the way through shapes, are one."""
    for text in (*TEXTS, TEXTS, []):
        fast = client.post("/encode", json={"text": text})
        shaped = client.post("/encode", json={"text": text, "max_length": 1 << 20})
        assert fast.content == shaped.content


@settings(max_examples=150, deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=200), add=st.booleans())
def test_answer_equals_the_library(client: TestClient, framed: Tokenizer, text: str, add: bool) -> None:
    body = {"text": text, "special_tokens": "text", "add_special_tokens": add}
    ids = framed.encode(text, special_tokens="text", add_special_tokens=add).tolist()
    assert client.post("/encode", json=body).json() == {"tokenizer": framed.hash, "ids": ids, "count": len(ids)}
    assert client.post("/count", json=body).json() == {"tokenizer": framed.hash, "count": len(ids)}


def test_special_tokens_means_what_it_says(client: TestClient, framed: Tokenizer) -> None:
    body = {"text": "a<|eos|>", "add_special_tokens": False}
    parsed = client.post("/encode", json={**body, "special_tokens": "parse"}).json()["ids"]
    as_text = client.post("/encode", json={**body, "special_tokens": "text"}).json()["ids"]
    assert parsed[-1] == framed.special_tokens["<|eos|>"]
    assert not set(as_text) & set(framed.special_tokens.values())
    assert framed.decode(as_text) == "a<|eos|>"


def test_special_tokens_are_added_unless_told_otherwise(client: TestClient, framed: Tokenizer) -> None:
    specials = framed.special_tokens
    ids = client.post("/encode", json={"text": "a"}).json()["ids"]
    assert (ids[0], ids[-1]) == (specials["<|bos|>"], specials["<|eos|>"])
    assert client.post("/encode", json={"text": "a", "add_special_tokens": False}).json()["ids"] == ids[1:-1]


def test_tokenizer_is_chosen_by_name_hash_or_both(client: TestClient, framed: Tokenizer, bare: Tokenizer) -> None:
    for tokenizer in (framed, bare):
        for reference in (tokenizer.name, tokenizer.hash, f"{tokenizer.name}@{tokenizer.hash}"):
            answer = client.post("/encode", json={"text": "the fox", "tokenizer": reference}).json()
            assert answer["tokenizer"] == tokenizer.hash
            assert answer["ids"] == tokenizer.encode("the fox", add_special_tokens=True).tolist()


def test_name_with_the_hash_of_another_is_not_found(client: TestClient, framed: Tokenizer, bare: Tokenizer) -> None:
    answer = client.post("/encode", json={"text": "a", "tokenizer": f"{framed.name}@{bare.hash}"})
    assert answer.json()["code"] == "tokenizer_not_found"


def test_work_in_a_thread_gives_the_same_bytes(make_client: MakeClient, client: TestClient) -> None:
    threaded = make_client(inline_bytes=0)
    for body in ({"text": TEXTS}, {"text": "the fox", "return": PARTS}, {"text": "a<|eos|>"}, {"text": 7}):
        here, there = client.post("/encode", json=body), threaded.post("/encode", json=body)
        assert (here.status_code, here.content) == (there.status_code, there.content)


@pytest.mark.parametrize(("block", "piece"), [(1, 1), (3, 2), (64, 3), (1000, 1000)])
def test_answer_is_the_same_however_it_is_cut(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, block: int, piece: int
) -> None:
    bodies = [{"text": TEXTS, "return": PARTS}, {"text": TEXTS[2], "return": PARTS}, {"text": TEXTS[2]}, {"text": []}]
    whole = [client.post("/encode", json=body) for body in bodies]
    monkeypatch.setattr("service.http.response_json.BLOCK_BYTES", block)
    monkeypatch.setattr("service.http.response_json.SLICE", piece)
    monkeypatch.setattr("service.routes.json_route.BLOCK_BYTES", block)
    for body, expected in zip(bodies, whole, strict=True):
        answer = client.post("/encode", json=body)
        assert answer.content == expected.content
        assert answer.headers["content-length"] == expected.headers["content-length"]


def test_many_texts_equal_each_alone(client: TestClient) -> None:
    texts = [f"{number} foxes" for number in range(INLINE_ITEMS + 50)]
    together = client.post("/encode", json={"text": texts}).json()
    assert together["ids"] == [client.post("/encode", json={"text": text}).json()["ids"] for text in texts]
    assert together["count"] == [len(ids) for ids in together["ids"]]
    counted = client.post("/count", json={"text": texts}).json()
    CountAnswer.model_validate(counted)
    assert counted["count"] == together["count"]


def test_escapes_in_json_mean_what_json_says(client: TestClient, bare: Tokenizer) -> None:
    text = 'a"\\/\b\f\n\r\t\0\x1f\x7f\u2028🙂é'
    for ascii_only in (True, False):
        body = json.dumps({"text": text, "tokenizer": "bare"}, ensure_ascii=ascii_only).encode("utf-8")
        answer = client.post("/encode", content=body, headers={"content-type": "application/json"})
        assert answer.json()["ids"] == bare.encode(text).tolist()
