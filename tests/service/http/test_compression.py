"""Compressed bodies mean what plain ones do, within the same bounds; large answers are compressed if asked for."""

from __future__ import annotations

import gzip
import os
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from service.errors import ServiceError
from service.http.compression import answer_coding, compress, decompress
from tests.service.conftest import MakeClient
from tests.service.problems import assert_problem
from tokenizer_core.zstd import zstd

JSON = {"content-type": "application/json"}
BODY = b'{"text": "the quick brown fox"}'
PACKED: dict[str, Any] = {"gzip": gzip.compress, "zstd": zstd.compress}


@pytest.mark.parametrize("route", ["/encode", "/tokenize", "/render"])
@pytest.mark.parametrize("coding", PACKED)
def test_a_packed_body_is_answered_as_the_plain_one(client: TestClient, coding: str, route: str) -> None:
    plain = client.post(route, content=BODY, headers=JSON)
    packed = client.post(route, content=PACKED[coding](BODY), headers={**JSON, "content-encoding": coding})
    assert (packed.status_code, packed.content) == (plain.status_code, plain.content)


@pytest.mark.parametrize("coding", PACKED)
def test_several_frames_and_any_chunks_are_one_body(client: TestClient, coding: str) -> None:
    whole = PACKED[coding](BODY[:9]) + PACKED[coding](BODY[9:])
    chunks = (whole[at : at + 3] for at in range(0, len(whole), 3))
    answer = client.post("/encode", content=chunks, headers={**JSON, "content-encoding": coding})
    assert answer.json() == client.post("/encode", content=BODY, headers=JSON).json()


@pytest.mark.parametrize("coding", PACKED)
def test_what_is_damaged_is_refused_with_its_header(client: TestClient, coding: str) -> None:
    whole = PACKED[coding](BODY * 50)
    for damaged in (whole[:-1], whole[: len(whole) // 2], b"\0" + whole, whole + b"x", b"", BODY):
        answer = client.post("/encode", content=damaged, headers={**JSON, "content-encoding": coding})
        assert_problem(
            answer, "invalid_encoding" if damaged else "invalid_json", "header content-encoding" if damaged else None
        )


@pytest.mark.parametrize("coding", PACKED)
def test_a_bomb_is_refused_when_it_has_unpacked_to_the_largest_body(make_client: MakeClient, coding: str) -> None:
    client = make_client(max_body_bytes=1 << 20)
    bomb = PACKED[coding](bytes(1 << 28))
    assert len(bomb) < 1 << 20
    answer = client.post("/encode", content=bomb, headers={**JSON, "content-encoding": coding})
    assert_problem(answer, "body_too_large")


def test_a_window_that_takes_much_memory_is_refused() -> None:
    packer = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 27})
    frame = packer.compress(os.urandom(1 << 10)) + packer.flush()
    with pytest.raises(ServiceError) as caught:
        decompress("zstd", [frame], 1 << 30)
    assert caught.value.code == "invalid_encoding"


@given(
    parts=st.lists(st.binary(max_size=3000), max_size=5), coding=st.sampled_from([*PACKED]), step=st.integers(1, 999)
)
def test_what_is_packed_unpacks_to_the_same(parts: list[bytes], coding: Any, step: int) -> None:
    packed = b"".join(bytes(part) for part in compress(coding, parts))
    chunks = [packed[at : at + step] for at in range(0, len(packed), step)]
    assert decompress(coding, chunks, 1 << 20) == b"".join(parts)


@pytest.mark.parametrize("coding", PACKED)
def test_a_body_of_several_megabytes_unpacks_to_the_same(coding: Any) -> None:
    data = b"".join(b"%d the quick brown fox\n" % number for number in range(200_000)) + bytes(3 << 20)
    packed = PACKED[coding](data)
    chunks = [packed[at : at + (1 << 16)] for at in range(0, len(packed), 1 << 16)]
    assert decompress(coding, chunks, len(data)) == data
    with pytest.raises(ServiceError, match="more than"):
        decompress(coding, chunks, len(data) - 1)


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        (None, None),
        (b"", None),
        (b"gzip", "gzip"),
        (b"gzip, deflate, br, zstd", "zstd"),
        (b"gzip;q=1.0, zstd;q=0.5", "gzip"),
        (b"zstd;q=0, gzip;q=0", None),
        (b"*", "zstd"),
        (b"identity, gzip;q=0.5", None),
        (b"br", None),
        (b"gzip," * 1000, None),
    ],
)
def test_the_coding_of_an_answer_is_the_best_that_the_caller_accepts(
    accepted: bytes | None, coding: str | None
) -> None:
    assert answer_coding([] if accepted is None else [(b"accept-encoding", accepted)]) == coding


@pytest.mark.parametrize("coding", [None, *PACKED])
def test_large_answers_are_packed_for_callers_that_accept_it(make_client: MakeClient, coding: str | None) -> None:
    client = make_client(pack_bytes=1 << 18)
    headers = {"accept-encoding": coding or "identity"}
    body = {"text": "the quick brown fox " * 20_000, "return": ["ids", "spans"]}
    with client.stream("POST", "/encode", json=body, headers=headers) as answer:
        raw = b"".join(answer.iter_raw())
    assert answer.headers.get("content-encoding") == coding
    assert answer.headers["vary"] == "accept-encoding"
    assert int(answer.headers["content-length"]) == len(raw)
    plain = {"gzip": gzip.decompress, "zstd": lambda data: decompress("zstd", [data], 1 << 30), None: bytes}[coding](
        raw
    )
    assert plain == client.post("/encode", json=body, headers={"accept-encoding": "identity"}).content
    assert coding is None or len(raw) < len(plain) // 2


def test_small_answers_are_sent_as_they_are(client: TestClient) -> None:
    answer = client.post("/encode", content=BODY, headers={**JSON, "accept-encoding": "gzip, zstd"})
    assert "content-encoding" not in answer.headers
