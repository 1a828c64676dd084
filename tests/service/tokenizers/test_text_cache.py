"""Cached equals uncached, over every option; the cache keeps within its bytes and says what it did."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.answers.encoding import encode
from service.bodies import media
from service.schemas.fields import CHAT_PARTS, Part
from service.schemas.requests import ChatOptions, CountRequest, EncodeRequest, OffsetsRequest, TextOrChatRequest
from service.tokenizers.loaded import Loaded
from service.tokenizers.text_cache import TextCache, TextKey
from tests.service.conftest import TEXTS, MakeClient, state_of
from tests.service.problems import assert_problem
from tokenizer_core import Tokenizer
from tokenizer_core.config import Digits

BYTES = 20_000
"""Room for some dozen texts: entries are thrown out all the time."""

_TEXT = st.sampled_from([*TEXTS, "", "the fox", "the fox ", "<|bos|>", "a<|eos|>b", "naïve"])
_SIDE = st.sampled_from(["left", "right"])
_OPTIONS: dict[str, st.SearchStrategy[Any]] = {
    "tokenizer": st.sampled_from(["framed", "bare", "nobody"]),
    "special_tokens": st.sampled_from(["reject", "text", "parse"]),
    "add_special_tokens": st.booleans(),
}
_ENCODE: dict[str, st.SearchStrategy[Any]] = {
    "max_length": st.integers(0, 9),
    "truncation_side": _SIDE,
    "padding": st.sampled_from(["none", "longest", "max_length"]),
    "padding_side": _SIDE,
    "pad_to_multiple_of": st.sampled_from([1, 4]),
    "return": st.lists(st.sampled_from([part for part in get_args(Part) if part not in CHAT_PARTS]), min_size=1),
}
_OFFSETS: dict[str, st.SearchStrategy[Any]] = {
    "unit": st.sampled_from(["byte", "char", "utf16"]),
    "tokens": st.booleans(),
    "target_spans": st.sampled_from([[[0, 1]], [[[0, 1]], []]]),
}
_ROUTES: dict[str, tuple[type[TextOrChatRequest], dict[str, st.SearchStrategy[Any]]]] = {
    "/encode": (EncodeRequest, _OPTIONS | _ENCODE),
    "/offsets": (OffsetsRequest, _OPTIONS | _OFFSETS),
    "/count": (CountRequest, _OPTIONS),
}
_REQUESTS = st.one_of(
    *(
        st.tuples(
            st.just(path),
            st.fixed_dictionaries({"text": st.one_of(_TEXT, st.lists(_TEXT, max_size=5))}, optional=options),
            st.sampled_from([media.JSON, media.OCTETS, media.ARROW]),
        )
        for path, (_, options) in _ROUTES.items()
    )
)


def test_no_option_is_left_out() -> None:
    of_chats = {*ChatOptions.model_fields, "messages", "train_on"}
    for model, options in _ROUTES.values():
        names = {field.alias or name for name, field in model.model_fields.items()}
        assert names - of_chats == {"text", *options}


@pytest.fixture(scope="module")
def servers(make_client: MakeClient) -> tuple[TestClient, TestClient]:
    return make_client(text_cache_bytes=BYTES), make_client()


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(_REQUESTS, min_size=1, max_size=6))
def test_cached_equals_uncached(
    servers: tuple[TestClient, TestClient], requests: list[tuple[str, dict[str, Any], str]]
) -> None:
    cached, uncached = servers
    for path, body, form in requests:
        expected = uncached.post(path, json=body, headers={"accept": form})
        for _ in range(2):
            answer = cached.post(path, json=body, headers={"accept": form})
            assert (answer.status_code, answer.headers, answer.content) == (
                expected.status_code,
                expected.headers,
                expected.content,
            )
    assert state_of(cached).registry.texts.bytes <= BYTES


def test_hits_are_counted(make_client: MakeClient) -> None:
    client = make_client(text_cache_bytes=1 << 20)
    for _ in range(3):
        assert client.post("/encode", json={"text": ["the fox", "the dog"]}).status_code == 200
    page = client.get("/metrics").text
    assert 'tokd_text_cache_lookups_total{found="true"} 4.0' in page
    assert 'tokd_text_cache_lookups_total{found="false"} 2.0' in page
    held = re.search(r"^tokd_text_cache_bytes (\S+)$", page, re.MULTILINE)
    assert held is not None
    assert 0 < float(held[1]) <= 1 << 20


def test_cache_is_off_by_default(make_client: MakeClient) -> None:
    client = make_client()
    assert state_of(client).registry.texts is None
    assert "tokd_text_cache_bytes 0.0" in client.get("/metrics").text


def test_entry_is_found_only_under_all_that_it_depends_on() -> None:
    cache = TextCache(1 << 20)
    key = TextKey("sha256:a", "sha256:t", True, "text", "left", "char", "the fox")
    ids = np.arange(6, dtype=np.uint32)
    cache.put(key, ids[:3], ids.reshape(3, 2))
    ids[:] = 9
    found = cache.get(key)
    assert found is not None
    assert found.ids.tolist() == [0, 1, 2]
    assert not found.ids.flags.writeable
    others = {
        "tokenizer": "sha256:b", "template": None, "add_special_tokens": False, "special_tokens": "parse",
        "truncation_side": "right", "spans": "byte", "text": "the fo",
    }  # fmt: skip
    assert others.keys() == set(TextKey._fields)
    for name, value in others.items():
        assert cache.get(key._replace(**{name: value})) is None


def test_tokenizers_with_one_template_share_no_entry(bare: Tokenizer) -> None:
    cache = TextCache(1 << 20)
    digits = replace(bare.config, pretokenizer=(Digits(individual=True), *bare.config.pretokenizer))
    others = (bare, bare.with_parts(replace(bare.parts, config=digits)))
    request = EncodeRequest.model_validate({"text": "1234567890", "return": ("ids", "spans")})
    for tokenizer in others * 2:
        loaded = Loaded(tokenizer, "", cache)
        (found,) = encode(loaded, request, max_ids=100, threads=1).blocks
        assert json.loads(bytes(found))["ids"] == tokenizer.encode("1234567890").tolist()
    assert (cache.misses, cache.hits) == (2, 2)


def test_text_that_is_refused_beside_known_ones_is_named_by_its_place(make_client: MakeClient) -> None:
    client = make_client(text_cache_bytes=1 << 20)
    assert client.post("/encode", json={"text": ["the fox", "the dog"]}).status_code == 200
    answer = client.post("/encode", json={"text": ["the fox", "the dog", "a<|eos|>b"]})
    assert_problem(answer, "reserved_literal", "text[2]")


def test_cache_keeps_within_its_bytes() -> None:
    cache = TextCache(10_000)
    for number in range(200):
        cache.put(TextKey("t", None, True, "text", None, None, f"text {number}"), np.arange(50, dtype=np.uint32))
        assert 0 < cache.bytes <= 10_000
    before = cache.bytes
    cache.put(TextKey("t", None, True, "text", None, None, "large"), np.zeros(5000, np.uint32))
    assert cache.bytes == before
