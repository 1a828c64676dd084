"""``/offsets``: places in every unit, and masks against their definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st

from service.http import media
from service.schemas.answers import OffsetsAnswer
from tokenizer_core import Tokenizer, overlapping

TEXT = "naïve 🙂👍🏽 the fox"
Interval = st.tuples(st.integers(0, 12), st.integers(0, 12)).map(sorted)


@pytest.mark.parametrize("unit", ["byte", "char", "utf16"])
def test_spans_are_the_library_s(client: TestClient, framed: Tokenizer, unit: Any) -> None:
    answer = client.post("/offsets", json={"text": TEXT, "unit": unit, "tokens": True}).json()
    OffsetsAnswer.model_validate(answer)
    expected = framed.offsets(TEXT, unit, add_special_tokens=True)
    assert answer["ids"] == expected.ids.tolist()
    assert answer["spans"] == expected.spans.tolist()
    assert answer["tokens"] == [framed.decode([id]) for id in expected.ids.tolist()]
    assert set(answer) == {"tokenizer", "ids", "spans", "tokens"}


def test_char_is_the_unit_unless_told_otherwise(client: TestClient, bare: Tokenizer) -> None:
    answer = client.post("/offsets", json={"text": TEXT, "tokenizer": "bare"}).json()
    assert answer["spans"] == bare.offsets(TEXT, "char").spans.tolist()


def test_list_gives_one_entry_a_text(client: TestClient) -> None:
    texts = [TEXT, "", "a"]
    targets = [[[0, 5]], [], [[0, 1]]]
    answer = client.post("/offsets", json={"text": texts, "target_spans": targets, "tokens": True}).json()
    OffsetsAnswer.model_validate(answer)
    for index, text in enumerate(texts):
        body = {"text": text, "target_spans": targets[index], "tokens": True}
        alone = client.post("/offsets", json=body).json()
        assert alone == {k: v if k == "tokenizer" else v[index] for k, v in answer.items()}


@pytest.mark.parametrize("unit", ["byte", "char", "utf16"])
def test_mask_marks_tokens_that_share_a_position_with_a_target(client: TestClient, bare: Tokenizer, unit: Any) -> None:
    spans = bare.offsets(TEXT, unit).spans.tolist()
    for target in ([0, 0], [0, 1], [5, 6], [6, 7], [6, 8], [9, 12], [0, spans[-1][1]]):
        body = {"text": TEXT, "unit": unit, "target_spans": [target], "tokenizer": "bare"}
        mask = client.post("/offsets", json=body).json()["mask"]
        assert mask == [int(bool(set(range(*span)) & set(range(*target)))) for span in spans]


def test_frame_of_special_tokens_is_in_no_target(client: TestClient) -> None:
    mask = client.post("/offsets", json={"text": "fox", "target_spans": [[0, 3]]}).json()["mask"]
    assert (mask[0], mask[-1]) == (0, 0)
    assert all(mask[1:-1])


def test_span_up_to_the_end_of_the_text_is_allowed_and_no_further(client: TestClient) -> None:
    for unit, length in (("byte", 4), ("char", 1), ("utf16", 2)):
        body: dict[str, Any] = {"text": "🙂", "unit": unit, "target_spans": [[0, length]]}
        assert client.post("/offsets", json=body).status_code == 200
        body["target_spans"] = [[0, length + 1]]
        assert client.post("/offsets", json=body).status_code == 422


@settings(max_examples=300, deadline=None)
@given(spans=st.lists(Interval, max_size=8), targets=st.lists(Interval, max_size=8))
def test_overlap_is_what_sets_of_positions_say(spans: list[list[int]], targets: list[list[int]]) -> None:
    wanted = {position for target in targets for position in range(*target)}
    mask = overlapping(np.array(spans, np.uint32).reshape(-1, 2), np.array(targets, np.int64).reshape(-1, 2))
    assert mask.tolist() == [int(bool(set(range(*span)) & wanted)) for span in spans]


def test_special_tokens_have_one_span_on_every_route(client: TestClient, framed: Tokenizer) -> None:
    expected = framed.offsets(TEXT, add_special_tokens=True).spans.tolist()
    assert expected[-1] == [len(TEXT), len(TEXT)]
    alone = {"text": TEXT}
    assert client.post("/offsets", json=alone).json()["spans"] == expected
    for parts in (["spans"], ["spans", "type_ids"], ["spans", "truncated", "labels"], ["spans", "sequence_ids", "ids"]):
        assert client.post("/encode", json={**alone, "return": parts}).json()["spans"] == expected
    padded = {**alone, "return": ["spans", "type_ids"], "padding": "max_length", "max_length": len(expected) + 2}
    assert client.post("/encode", json=padded).json()["spans"] == expected + [[0, 0]] * 2
    pair = {"text": TEXT, "text_pair": "a fox"}
    spans = client.post("/offsets", json=pair).json()["spans"]
    assert spans == client.post("/encode", json={**pair, "return": ["spans"]}).json()["spans"]
    # No special token stands between the two.
    assert spans[: len(expected) - 1] == expected[:-1]
    assert spans[-1] == [5, 5]
    for body in (alone, pair):
        answer = client.post("/encode", json={**body, "return": ["spans", "ids"]}, headers={"accept": media.ARROW})
        (column,) = pa.ipc.open_stream(answer.content).read_all()["spans"].to_pylist()
        assert column == client.post("/offsets", json=body).json()["spans"]


def test_white_space_is_left_out_of_spans_where_that_is_asked(client: TestClient, framed: Tokenizer) -> None:
    texts = ["the  fox ", "a fox"]
    own = [framed.offsets(text, "byte", add_special_tokens=True).trimmed().spans.tolist() for text in texts]
    assert own[0] != framed.offsets(texts[0], add_special_tokens=True).spans.tolist()
    body = {"text": texts, "unit": "byte", "trim_offsets": True}
    assert client.post("/offsets", json=body).json()["spans"] == own
    pairs = client.post("/offsets", json={**body, "text_pair": texts[::-1]}).json()
    assert pairs["spans"] == [own[0][:-1] + own[1][1:], own[1][:-1] + own[0][1:]]
    # A space before a word lies in no token then.
    target = {"text": "the fox", "target_spans": [[3, 4]]}
    assert 1 in client.post("/offsets", json=target).json()["mask"]
    assert 1 not in client.post("/offsets", json={**target, "trim_offsets": True}).json()["mask"]
    chat = {"messages": [{"role": "user", "content": "  the fox  "}]}
    spans, trimmed = (
        client.post("/offsets", json={**chat, **more}).json()["spans"] for more in ({}, {"trim_offsets": True})
    )
    text = client.post("/render", json=chat).json()["text"]
    assert spans != trimmed
    assert [text[a:b] for a, b in trimmed] == [text[a:b].strip() for a, b in spans]
