"""``/encode`` with the best segmentations: those of the library with their scores, within limits."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from tokenizers import Tokenizer as Peer
from tokenizers.models import Unigram

from service.client import AsyncClient, Client, Encoding, calls
from service.schemas.answers import EncodeAnswer
from service.settings import Settings
from tests.service.conftest import MakeClient
from tests.service.problems import assert_problem
from tests.support import families
from tests.support.server import RunServer
from tokenizer_core import MAX_NBEST, Tokenizer

LISTED = {"return": ["segmentations"]}
SOME_IDS = 4096


@pytest.fixture
def unigram(tmp_path: Path) -> Tokenizer:
    peer = Peer(Unigram([("<unk>", 0.0), ("a", -2.0), ("b", -2.5), ("ab", -3.0), ("aba", -4.0)], 0))
    return families.opened(peer, tmp_path)


@pytest.fixture
def http(make_client: MakeClient, unigram: Tokenizer, tmp_path: Path) -> TestClient:
    unigram.save(tmp_path / "artifact")
    return make_client(artifacts=(str(tmp_path / "artifact"),), max_ids=SOME_IDS)


def test_the_best_are_those_of_the_library(http: TestClient, unigram: Tokenizer) -> None:
    texts = ["abababa", "", "b", "abc"]
    wanted = [
        [{"ids": each.ids.tolist(), "score": each.score} for each in unigram.nbest(text, 5, add_special_tokens=True)]
        for text in texts
    ]
    assert [len(best) for best in wanted] == [5, 1, 1, 2]
    answer = http.post("/encode", json={"text": texts, "nbest": 5, **LISTED}).json()
    assert answer == {"tokenizer": unigram.hash, "segmentations": wanted}
    one = http.post("/encode", json={"text": texts[0], "nbest": 5, **LISTED}).json()
    assert one == {"tokenizer": unigram.hash, "segmentations": wanted[0]}
    EncodeAnswer.model_validate(answer)
    EncodeAnswer.model_validate(one)
    assert one["segmentations"][0]["ids"] == http.post("/encode", json={"text": texts[0]}).json()["ids"]


def test_clients_read_them(http: TestClient, unigram: Tokenizer) -> None:
    best = [{"ids": each.ids.tolist(), "score": each.score} for each in unigram.nbest("abab", 3)]
    call = calls.encode("abab", nbest=3, parts=["segmentations"])
    assert call.read(http.post("/encode", json=call.body).json()).segmentations == best
    many = calls.encode_batch(["abab", "b"], nbest=3, parts=["segmentations"])
    assert [len(row.segmentations) for row in many.read(http.post("/encode", json=many.body).json())] == [3, 1]


def test_the_best_of_a_small_vocabulary_by_hand(http: TestClient) -> None:
    listed = http.post("/encode", json={"text": "aba", "nbest": 9, **LISTED}).json()["segmentations"]
    # aba; ab a; a b a: 4, 3 + 2 and 2 + 2.5 + 2.
    assert listed == [{"ids": [4], "score": -4.0}, {"ids": [3, 1], "score": -5.0}, {"ids": [1, 2, 1], "score": -6.5}]


def test_both_clients_ask_a_running_server_for_as_many_as_there_may_be(
    run_server: RunServer, unigram: Tokenizer, tmp_path: Path
) -> None:
    """A text of as many characters as the default limit lets in, times the most segmentations."""
    unigram.save(tmp_path / "artifact")
    text = "ab" * (Settings().max_ids // MAX_NBEST // 2)
    best = [{"ids": each.ids.tolist(), "score": each.score} for each in unigram.nbest(text, MAX_NBEST)]
    assert len({tuple(each["ids"]) for each in best}) == MAX_NBEST
    with run_server(artifacts=(str(tmp_path / "artifact"),)) as server:

        async def ask() -> Encoding:
            async with AsyncClient(server.url) as tokd:
                return await tokd.encode(text, nbest=MAX_NBEST, parts=["segmentations"])

        with Client(server.url) as tokd:
            found = tokd.encode(text, nbest=MAX_NBEST, parts=["segmentations"])
        assert found.segmentations == best
        assert asyncio.run(ask()) == found


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({}, "nbest"),
        ({"nbest": 0}, "nbest"),
        ({"nbest": -1}, "nbest"),
        ({"nbest": 2, "return": ["ids", "segmentations"]}, "return"),
        ({"nbest": 2, "return": ["segmentations", "segmentations"]}, "return"),
        ({"nbest": 2, "alpha": 0.1}, "alpha"),
        ({"nbest": 2, "seed": 0}, "seed"),
        ({"nbest": 2, "dropout": 0.1}, "dropout"),
        ({"nbest": 2, "max_length": 3}, "max_length"),
        ({"nbest": 2, "padding": "longest"}, "padding"),
        ({"nbest": 2, "block_hashes": {"scheme": "vllm", "block_size": 16}}, "block_hashes"),
        ({"nbest": 2, "text_pair": "b"}, "text_pair"),
    ],
)
def test_what_does_not_go_with_a_list_is_refused_by_name(http: TestClient, fields: dict[str, Any], path: str) -> None:
    assert_problem(http.post("/encode", json={"text": "ab", **LISTED, **fields}), "invalid_option", path)


@pytest.mark.parametrize("value", [MAX_NBEST + 1, -2])
def test_a_number_out_of_range_is_refused(http: TestClient, value: int) -> None:
    assert_problem(http.post("/encode", json={"text": "ab", "nbest": value, **LISTED}), "invalid_value", "nbest")


def test_a_list_is_bounded_by_the_ids_of_a_request(http: TestClient) -> None:
    texts = ["ab" * 64, "ab" * 64]
    listed = http.post("/encode", json={"text": texts, "nbest": SOME_IDS // 256, **LISTED})
    found = [np.array(each["ids"]) for best in listed.json()["segmentations"] for each in best]
    assert len(found) == SOME_IDS // 128
    assert sum(map(len, found)) <= SOME_IDS
    over = http.post("/encode", json={"text": texts, "nbest": SOME_IDS // 256 + 1, **LISTED})
    assert_problem(over, "too_many_ids", "nbest")


def test_an_error_names_the_text(http: TestClient, client: TestClient) -> None:
    assert_problem(client.post("/encode", json={"text": "ab", "nbest": 2, **LISTED}), "invalid_option", "nbest")
    chat = {"messages": [{"role": "user", "content": "Hi"}], **LISTED}
    assert_problem(client.post("/encode", json=chat), "invalid_option", "return")
    bare = {"accept": "application/octet-stream"}
    refused = http.post("/encode", json={"text": "ab", "nbest": 2, **LISTED}, headers=bare)
    assert_problem(refused, "invalid_option", "return")


def test_a_literal_is_refused_with_its_place(make_client: MakeClient, tmp_path: Path) -> None:
    peer = Peer(Unigram([("<unk>", 0.0), ("a", -2.0), ("b", -2.5)], 0))
    peer.add_special_tokens(["<end>"])
    (tmp_path / "special").mkdir()
    families.opened(peer, tmp_path / "special").save(tmp_path / "with-end")
    client = make_client(artifacts=(str(tmp_path / "with-end"),))
    body = {"text": ["a", "a<end>"], "nbest": 2, **LISTED}
    assert_problem(client.post("/encode", json=body), "reserved_literal", "text[1]")
    assert client.post("/encode", json={**body, "special_tokens": "parse"}).status_code == 200
