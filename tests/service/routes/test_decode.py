"""``/decode``: whole, in lists, and as a stream whose state the caller carries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st

from service.schemas.answers import DecodeAnswer
from tests.service.conftest import MakeClient
from tokenizer_core import Tokenizer
from tokenizer_core._kernel import Vocabulary
from tokenizer_core.config import PipelineConfig, TokenizerParts
from tokenizer_core.stages import Decoder, Model, Pretokenizer


def test_decode_gives_back_the_text(client: TestClient, bare: Tokenizer) -> None:
    texts = ["the fox", "", "naïve 🙂👍🏽", "\0\n"]
    rows = [bare.encode(text).tolist() for text in texts]
    together = client.post("/decode", json={"ids": rows, "tokenizer": "bare"}).json()
    DecodeAnswer.model_validate(together)
    assert together == {"tokenizer": bare.hash, "text": texts}
    for row, text in zip(rows, texts, strict=True):
        assert client.post("/decode", json={"ids": row, "tokenizer": "bare"}).json()["text"] == text


def test_special_tokens_are_left_out_when_asked(client: TestClient, framed: Tokenizer) -> None:
    ids = framed.encode("the fox", add_special_tokens=True).tolist()
    assert client.post("/decode", json={"ids": ids}).json()["text"] == "<|bos|>the fox<|eos|>"
    assert client.post("/decode", json={"ids": ids, "skip_special_tokens": True}).json()["text"] == "the fox"


def test_no_ids_are_no_text(client: TestClient) -> None:
    assert client.post("/decode", json={"ids": []}).json()["text"] == ""
    assert client.post("/decode", json={"ids": [[]]}).json()["text"] == [""]
    assert client.post("/decode", json={"ids": [[], []]}).json()["text"] == ["", ""]


def test_half_a_surrogate_is_told_at_once_as_nothing_completes_it(client: TestClient, framed: Tokenizer) -> None:
    ids = {framed.token_bytes(id): id for id in range(framed.vocab_size)}
    for tail, text, pending in ((b"\xa0", "\ufffd\ufffd", ""), (b"\xc3", "\ufffd", "c3"), (b"\x9f", "", "ed9f")):
        answer = client.post("/decode", json={"ids": [ids[b"\xed"], ids[tail]], "pending": ""}).json()
        assert (answer["text"], answer["pending"]) == (text, pending)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_stream_of_any_ids_at_any_split_is_the_whole(client: TestClient, framed: Tokenizer, data: Any) -> None:
    ids = data.draw(st.lists(st.integers(0, framed.vocab_size - 1), max_size=24))
    skip = data.draw(st.booleans())
    stream = framed.stream_decoder(skip_special_tokens=skip)
    text, pending, at = "", "", 0
    while at < len(ids):
        chunk = ids[at : at + data.draw(st.integers(1, 4))]
        at += len(chunk)
        body = {"ids": chunk, "pending": pending, "skip_special_tokens": skip}
        answer = client.post("/decode", json=body).json()
        DecodeAnswer.model_validate(answer)
        assert answer["text"] == stream.push(chunk)
        assert bytes.fromhex(answer["pending"]) == stream.pending
        text, pending = text + answer["text"], answer["pending"]
    last = client.post("/decode", json={"ids": [], "pending": pending, "final": True}).json()
    assert last["pending"] == ""
    assert text + last["text"] == framed.decode(ids, skip_special_tokens=skip)


def test_final_ids_may_come_with_the_last_request(client: TestClient, bare: Tokenizer) -> None:
    half = bare.encode("é🙂").tolist()[:-1]
    body = {"ids": half, "pending": "", "final": True, "tokenizer": "bare"}
    assert client.post("/decode", json=body).json() == {
        "tokenizer": bare.hash,
        "text": bare.decode(half),
        "pending": "",
    }


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    """A tokenizer whose text depends on the tokens before."""
    entries = ["[UNK]", "un", "##der", "stand", ".", "##ing"]
    config = PipelineConfig(
        pretokenizer=(Pretokenizer("bert"),),
        model=Model("word_piece", unk=0),
        decoder=(Decoder("word_piece", prefix="##", cleanup=True),),
    )
    tokenizer = Tokenizer(TokenizerParts(Vocabulary.from_texts(list(enumerate(entries)), [], []), config))
    path: Path = tmp_path_factory.mktemp("words") / "words"
    tokenizer.save(path, name="words")
    return Tokenizer.open(path)


@pytest.fixture(scope="module")
def words_client(make_client: MakeClient, words: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    path = tmp_path_factory.mktemp("served") / "words"
    words.save(path, name="words")
    return make_client(artifacts=(str(path),), max_ids=40)


@settings(max_examples=50, deadline=None)
@given(ids=st.lists(st.integers(0, 5), max_size=16), cuts=st.lists(st.integers(1, 4), min_size=16, max_size=16))
def test_a_stream_of_tokens_is_the_whole(
    words_client: TestClient, words: Tokenizer, ids: list[int], cuts: list[int]
) -> None:
    text, pending, rest = "", "", list(ids)
    for size in cuts:
        body = {"ids": rest[:size], "pending": pending}
        answer = words_client.post("/decode", json=body).json()
        text, pending, rest = text + answer["text"], answer["pending"], rest[size:]
    last = words_client.post("/decode", json={"ids": [], "pending": pending, "final": True}).json()
    assert (text + last["text"], last["pending"]) == (words.decode(ids), "")


def test_what_a_stream_of_tokens_must_not_carry_is_refused(words_client: TestClient) -> None:
    for pending, code, path in (
        ("0100", "invalid_value", "pending"),
        ("ffff0000", "unknown_token_id", "pending"),
        ("01000000" * 41, "too_many_ids", "ids"),
    ):
        answer = words_client.post("/decode", json={"ids": [1], "pending": pending})
        assert (answer.json()["code"], answer.json()["path"].split("[")[0]) == (code, path)
