"""The segment cache of a server: what it keeps, for whom, and that its bound and its numbers hold."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.auth.keys import entry, new_key
from tests.core.chat.conversations import tokenizer
from tests.service.conftest import MakeClient
from tokenizer_core import ChatAnswers, SegmentCache

RENDER = "/v1/chat/completions/render"
TEMPLATE = "Qwen-Qwen3-0.6B"
TEXT = "The quick brown fox jumps over the lazy dog. " * 10


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("kept") / "chats"
    tokenizer(TEMPLATE).save(path, name="chats")
    return str(path)


def turns(count: int, text: str = TEXT) -> list[dict[str, str]]:
    return [{"role": ("user", "assistant")[at % 2], "content": f"{at} {text}"} for at in range(count)]


def seen(client: TestClient) -> dict[str, float]:
    """Return the numbers of the cache."""
    page = client.get("/metrics").text
    found = re.findall(r'^tokd_segment_cache_segments_total{event="(\w+)"} (\S+)$', page, re.MULTILINE)
    held = re.search(r"^tokd_segment_cache_bytes (\S+)$", page, re.MULTILINE)
    assert held is not None
    return {"found": 0, "missed": 0, **{event: float(count) for event, count in found}, "bytes": float(held[1])}


def test_a_turn_finds_all_but_its_new_messages_on_every_route(make_client: MakeClient, artifact: str) -> None:
    client = make_client(artifacts=(artifact,))
    assert client.post("/encode", json={"messages": turns(5)}).status_code == 200
    assert seen(client)["missed"] == 5
    for number, path in enumerate(("/encode", "/count", "/tokenize", RENDER)):
        before = seen(client)
        assert client.post(path, json={"messages": turns(7 + 2 * number)}).status_code == 200
        after = seen(client)
        assert after["found"] - before["found"] == 5 + 2 * number
        assert after["missed"] - before["missed"] == 2
    assert after["bytes"] > 13 * len(TEXT)


def test_without_room_nothing_is_kept_and_answers_are_the_same(make_client: MakeClient, artifact: str) -> None:
    answers = []
    for size in (0, 10_000, 1 << 20):
        client = make_client(artifacts=(artifact,), segment_cache_bytes=size)
        asked = [client.post("/encode", json={"messages": turns(count, TEXT * 2)}) for count in range(1, 9)]
        answers.append([answer.content for answer in asked])
        held = seen(client)
        assert held["bytes"] <= size
        assert (held["found"] > 0) == (size > 0 and held["bytes"] > 0)
    assert answers[0] == answers[1] == answers[2]


def test_no_key_and_no_salt_finds_the_segments_of_another(
    make_client: MakeClient, artifact: str, tmp_path: Path
) -> None:
    keys = [new_key(), new_key()]
    path = tmp_path / "keys.toml"
    path.write_text("\n".join(entry(name, ["encode"], key) for name, key in zip("ab", keys, strict=True)))
    client = make_client(artifacts=(artifact,), keys=str(path))

    def found(key: str, body: dict[str, Any], size: int = 1) -> float:
        before = seen(client)["found"]
        sent = json.dumps({"messages": turns(size), **body})
        headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
        assert client.post(RENDER, content=sent, headers=headers).status_code == 200
        return seen(client)["found"] - before

    for key in keys:
        for body in ({}, {"cache_salt": "s"}, {"cache_salt": "t"}):
            assert found(key, body) == 0
            assert found(key, body) == 1
    # A large body is answered in a thread.
    assert [found(key, {"user": "x" * 200_000}, 3) for key in keys] == [1, 1]


@pytest.mark.nightly
def test_memory_is_flat_over_100_000_turns_of_500_conversations() -> None:
    own, size = tokenizer(TEMPLATE), 16 << 20
    segments = SegmentCache(size)
    answers = ChatAnswers(own, own.settings, b"{", segments)
    options: Any = {"content_format": "auto", "key": "", "literals": "text", "may_parse": False, "most": None}

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")

    after = []
    for turn in range(100_000):
        # Each begins again after ten turns, with texts that nobody has sent.
        at, conversation = turn // 500 % 10, (turn // 5_000, turn % 500)
        chat = turns(2 * at + 1, f"{conversation} {TEXT}")
        body = json.dumps({"messages": chat}).encode()
        given = answers.answer("count", body, None, max_items=100, max_model_len=1 << 20, **options)
        assert isinstance(given, tuple)
        if turn % 20_000 == 19_999:
            after.append(resident())
            assert 0.8 * size < segments.statistics[0] <= size
    assert max(after) - after[0] < 2 << 20
    _, found, missed = segments.statistics
    assert min(found, missed) > 100_000
