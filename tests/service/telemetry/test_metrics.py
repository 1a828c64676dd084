"""Counting: what is counted, and that callers cannot make labels."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, Histogram

from service.admission.limits import Limits
from service.request_log import LogEntry
from service.settings import Settings
from service.telemetry.metrics import _SECONDS, Metrics
from tests.service.conftest import TEXTS, MakeClient, state_of
from tokenizer_core import InternalError, Tokenizer, train


def test_requests_tokens_and_bytes_are_counted_by_route(make_client: MakeClient, framed: Tokenizer) -> None:
    client = make_client()
    body = b'{"text":"the fox"}'
    for _ in range(3):
        answer = client.post("/encode", content=body, headers={"content-type": "application/json"})
    client.post("/encode", content=b"{", headers={"content-type": "application/json"})
    page = client.get("/metrics").text
    assert 'tokd_requests_total{code="",route="/encode",status="200"} 3.0' in page
    assert 'tokd_requests_total{code="invalid_json",route="/encode",status="400"} 1.0' in page
    assert f'tokd_tokens_total{{route="/encode"}} {3.0 * answer.json()["count"]}' in page
    assert f'tokd_request_bytes_total{{route="/encode"}} {3.0 * len(body) + 1}' in page
    assert 'tokd_request_seconds_count{route="/encode"} 4.0' in page
    assert f'tokd_tokenizer_vocab_size{{hash="{framed.hash}",name="framed"}} {float(framed.vocab_size)}' in page
    assert "tokd_requests_in_flight 1.0" in page
    assert "process_resident_memory_bytes" in page


@pytest.mark.parametrize("inline_bytes", [0, 1 << 16], ids=["in a thread", "where it is read"])
def test_a_bug_of_the_kernel_is_counted_and_answered_by_the_models(
    make_client: MakeClient, monkeypatch: pytest.MonkeyPatch, inline_bytes: int
) -> None:
    client = make_client(inline_bytes=inline_bytes)
    answer = client.post("/encode", json={"text": "the fox"}).content

    def panic(*_: object) -> None:
        raise InternalError("the kernel failed")

    monkeypatch.setattr("service.http.fast_path.PlainTexts._ask", panic)
    assert client.post("/encode", json={"text": "the fox"}).content == answer
    page = client.get("/metrics").text
    assert 'tokd_fast_path_failures_total{error="InternalError",route="/encode"} 1.0' in page


def test_callers_make_no_labels(make_client: MakeClient) -> None:
    client = make_client()

    def labels() -> set[str]:
        return set(re.findall(r"^tokd_\w+\{[^}]*\}", client.get("/metrics").text, re.MULTILINE))

    client.get("/nowhere")
    client.get("/tokenizers/nobody")
    client.get("/metrics")
    before = labels()
    for number in range(50):
        client.get(f"/nowhere{number}")
        client.get(f"/tokenizers/nobody{number}")
        client.request(f"VERB{number}", "/nowhere")
    assert labels() == before


def test_times_fall_into_the_buckets_that_the_library_chooses() -> None:
    """Requests are tallied and handed over together; every border of a bucket belongs to it."""
    metrics, limits = Metrics(()), Limits(Settings())
    expected = Histogram("tokd_request_seconds", "", ("route",), buckets=_SECONDS, registry=CollectorRegistry())
    try:
        for at in (0.0, *_SECONDS, *(border + 1e-6 for border in _SECONDS), 99.0):
            metrics.record(LogEntry("POST", "/encode", 200), at, limits)
            expected.labels("/encode").observe(at)
            if at == 0.5:
                metrics.page({})
    finally:
        limits.close()
    wanted = {(s.name, s.labels["le"]): s.value for s in expected.collect()[0].samples if s.name.endswith("_bucket")}
    line = r'^(tokd_request_seconds_bucket)\{le="([^"]+)",route="/encode"\} (\S+)$'
    found = re.findall(line, metrics.page({}).decode(), re.MULTILINE)
    assert {(name, le): float(value) for name, le, value in found} == wanted


def test_piece_caches_are_counted_by_tokenizer(make_client: MakeClient, framed: Tokenizer) -> None:
    client = make_client()
    for _ in range(2):
        assert client.post("/encode", json={"text": "the quick brown fox"}).status_code == 200
    page = client.get("/metrics").text
    line = rf'^tokd_piece_cache_pieces_total{{event="(\w+)",hash="{framed.hash}"}} (\S+)$'
    found = dict(re.findall(line, page, re.MULTILINE))
    assert float(found["looked_up"]) > float(found["missed"]) > 0
    assert "evicted" in found
    held = re.search(rf'^tokd_piece_cache_bytes{{hash="{framed.hash}"}} (\S+)$', page, re.MULTILINE)
    assert held is not None
    assert float(held[1]) > 1_000_000


def test_piece_caches_of_trained_tokenizers_are_counted_and_never_count_down(
    make_client: MakeClient, tmp_path: Path
) -> None:
    hashes = []
    for word in ("low ", "new "):
        tokenizer = train(iter([word * 9]), vocab_size=300)
        tokenizer.save(tmp_path / tokenizer.hash.removeprefix("sha256:"), name="mine")
        hashes.append(tokenizer.hash)
    client = make_client(trained=str(tmp_path), max_trained=1)
    counted, held = [], []
    for asked in (*hashes, hashes[0]):
        assert client.post("/encode", json={"text": "the quick brown fox", "tokenizer": asked}).status_code == 200
        page = client.get("/metrics").text
        pieces = r'^tokd_piece_cache_pieces_total{event="looked_up",hash="trained"} (\S+)$'
        size = r'^tokd_piece_cache_bytes{hash="trained"} (\S+)$'
        for pattern, into in ((pieces, counted), (size, held)):
            found = re.search(pattern, page, re.MULTILINE)
            assert found is not None, page
            into.append(float(found[1]))
    assert counted == [4, 8, 12]
    # One of them is open at a time.
    assert len(set(held)) == 1
    assert held[0] > 0


def test_the_page_that_is_open_to_all_names_no_trained_tokenizer(make_client: MakeClient, tmp_path: Path) -> None:
    tokenizer = train(iter(["low " * 9]), vocab_size=300)
    tokenizer.save(tmp_path / tokenizer.hash.removeprefix("sha256:"), name="mine")
    client = make_client(trained=str(tmp_path))
    assert client.post("/encode", json={"text": "fox", "tokenizer": tokenizer.hash}).status_code == 200
    page = client.get("/metrics").text
    assert tokenizer.hash.removeprefix("sha256:") not in page
    assert "mine" not in page


def test_piece_caches_are_as_large_as_the_setting_says(make_client: MakeClient, framed: Tokenizer) -> None:
    held, answers = [], []
    for size in (0, 100_000, 1_000_000):
        client = make_client(piece_cache_bytes=size)
        answers.append([client.post("/encode", json={"text": text}).json() for text in TEXTS * 2])
        held.append(state_of(client).registry.get(framed.hash).tokenizer.cache_statistics.bytes)
    assert answers[0] == answers[1] == answers[2]
    assert 0 < held[0] < 10_000 < held[1] <= 100_000 < held[2] <= 1_000_000


def test_a_process_that_nobody_asks_tells_what_is_under_way(
    make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of several processes any one writes the page for all, from what the others told last."""
    told = threading.Semaphore(0)
    monkeypatch.setattr("service.app.GAUGE_SECONDS", 0.01)
    monkeypatch.setattr(Metrics, "update_gauges", lambda *_: told.release())
    with make_client():
        assert all(told.acquire(timeout=60) for _ in range(3))
