"""Requests and tokens are counted by tokenizer and, if the operator wants, by key; nobody makes labels without end."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from service.auth.keys import entry, new_key
from service.request_log import LogEntry
from service.telemetry.usage import MAX_KEYS, OTHER, Usage
from tests.service.conftest import MakeClient
from tokenizer_core import Tokenizer

LINE = re.compile(r'^tokd_usage_(requests|tokens)_total\{key="([^"]*)",tokenizer="([^"]*)"\} (\S+)$', re.MULTILINE)


def counted(page: str) -> dict[tuple[str, str, str], float]:
    return {(kind, key, tokenizer): float(value) for kind, key, tokenizer, value in LINE.findall(page)}


@pytest.mark.parametrize("by_key", [False, True])
def test_requests_and_tokens_are_counted_by_tokenizer_and_key(
    make_client: MakeClient, framed: Tokenizer, tmp_path: Path, by_key: bool
) -> None:
    keys = {name: new_key() for name in ("gateway", "research")}
    (tmp_path / "keys.toml").write_text("".join(entry(name, ["encode"], key) for name, key in keys.items()))
    client = make_client(keys=str(tmp_path / "keys.toml"), metrics_by_key=by_key)
    counts = []
    for name, text in (("gateway", "a fox"), ("gateway", "the quick brown fox"), ("research", "a")):
        answer = client.post("/encode", json={"text": text}, headers={"authorization": f"Bearer {keys[name]}"})
        counts.append((name if by_key else "", answer.json()["count"]))
    client.post("/encode", json={"text": "a"})
    found = counted(client.get("/metrics").text)
    for key in {key for key, _ in counts}:
        own = [count for name, count in counts if name == key]
        assert found["requests", key, framed.hash] == len(own)
        assert found["tokens", key, framed.hash] == sum(own)
    assert len(found) == (4 if by_key else 2)


def test_there_are_never_more_labels_than_bounds_allow() -> None:
    registry = CollectorRegistry()
    usage = Usage(registry, lambda hash: "trained", by_key=True)
    for number in range(3 * MAX_KEYS):
        for _ in range(2):
            usage.record(LogEntry("POST", tokens=5, tokenizer=f"sha256:{number}", key=f"k{number}"))
            usage.flush()
    found = counted(generate_latest(registry).decode())
    assert len({key for _, key, _ in found}) == MAX_KEYS + 1
    assert {tokenizer for _, _, tokenizer in found} == {"trained"}
    assert found["requests", OTHER, "trained"] == 4 * MAX_KEYS
    assert sum(value for (kind, *_), value in found.items() if kind == "tokens") == 3 * MAX_KEYS * 2 * 5


def test_the_wait_for_a_thread_is_counted(make_client: MakeClient) -> None:
    client = make_client(inline_bytes=0)
    for _ in range(3):
        client.post("/encode", json={"text": "a", "return": ["tokens"]})
    assert "tokd_queue_seconds_count 3.0" in client.get("/metrics").text
