"""``/decode``: whole, in lists, and as a stream whose state the caller carries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tokenizers
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st

from service.schemas.answers import DecodeAnswer
from tokenizer_core import Tokenizer


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


def test_a_stream_whose_tokens_depend_on_those_before_is_refused(make_client: Any, tmp_path: Path) -> None:
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "b": 1, "?": 2}, unk_token="?"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    (tmp_path / "tokenizer.json").write_text(words.to_str())
    Tokenizer.load(tmp_path / "tokenizer.json").save(tmp_path / "words")
    client = make_client(artifacts=(str(tmp_path / "words"),))
    assert client.post("/decode", json={"ids": [0, 1]}).json()["text"] == "a b"
    answer = client.post("/decode", json={"ids": [1], "pending": ""})
    assert answer.status_code == 422
    assert answer.json()["code"] == "invalid_option"
