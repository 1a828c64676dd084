"""A request is found again by what its caller called it, whichever way it was answered, and by the name of its key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from service.auth.keys import entry, new_key
from service.http.trace import MAX_REQUEST_ID, trace_of
from tests.service.conftest import RunServer

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
LARGE = " fox" * 50_000

REQUESTS: list[tuple[str, str, dict[str, Any] | None, int]] = [
    # At once; by a task; in a thread; in blocks.
    ("POST", "/count", {"text": "fox"}, 200),
    ("POST", "/encode", {"text": "fox", "return": ["tokens", "truncated"], "max_length": 4}, 200),
    ("POST", "/count", {"text": LARGE}, 200),
    ("POST", "/encode", {"text": LARGE}, 200),
    ("POST", "/encode", {"messages": [{"role": "user", "content": "fox"}]}, 200),
    ("POST", "/tokenize", {"prompt": "fox"}, 200),
    ("POST", "/count", {"txt": "fox"}, 422),
    ("POST", "/nowhere", {}, 404),
    ("GET", "/tokenizers", None, 200),
    ("GET", "/healthz", None, 200),
    ("HEAD", "/healthz", None, 200),
]


def test_every_answer_and_every_line_of_the_log_repeat_what_traces_a_request(
    run_server: RunServer, tmp_path: Path
) -> None:
    key, file = new_key(), tmp_path / "keys.toml"
    file.write_text(entry("gateway", ["encode"], key))
    bearer = {"authorization": f"Bearer {key}"}
    with run_server(access_log=True, worker=False, keys=str(file)) as server:
        for number, (method, path, body, status) in enumerate(REQUESTS):
            traced = bearer | {"x-request-id": f"call-{number}", "traceparent": PARENT}
            answer = server.client.request(method, path, json=body, headers=traced)
            plain = server.client.request(method, path, json=body, headers=bearer)
            assert (answer.status_code, answer.content) == (status, plain.content)
            assert answer.headers.get_list("x-request-id") == [f"call-{number}"]
            assert answer.headers.get_list("traceparent") == [PARENT]
            added = ("x-request-id", "traceparent")
            assert [name for name in answer.headers if name not in added] == list(plain.headers)
        refused = server.client.post("/count", json={"text": "fox"}, headers={"x-request-id": "keyless"})
        assert (refused.status_code, refused.headers["x-request-id"]) == (401, "keyless")
        lines = [json.loads(line) for line in server.stop()[0].splitlines()]
    # It was asked until it was ready.
    lines = [line for line in lines if line["route"] != "/readyz"]
    traced_lines, plain_lines = lines[:-1:2], lines[1:-1:2]
    assert len(traced_lines) == len(plain_lines) == len(REQUESTS)
    for number, (traced_line, plain_line) in enumerate(zip(traced_lines, plain_lines, strict=True)):
        assert (traced_line["request_id"], traced_line["traceparent"]) == (f"call-{number}", PARENT)
        assert (plain_line["request_id"], plain_line["traceparent"]) == ("", "")
        is_open = traced_line["route"] in ("/healthz", "unmatched")
        assert traced_line["key"] == plain_line["key"] == ("" if is_open else "gateway")
    assert (lines[-1]["request_id"], lines[-1]["key"], lines[-1]["code"]) == ("keyless", "", "unauthorized")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (b"x-request-id", b""),
        (b"x-request-id", b"a b"),
        (b"x-request-id", "grüße".encode()),
        (b"x-request-id", b"a\x7f"),
        (b"x-request-id", b"a" * (MAX_REQUEST_ID + 1)),
        (b"traceparent", PARENT.upper().encode()),
        (b"traceparent", PARENT.encode() + b"-00"),
        (b"traceparent", b"ff" + PARENT.encode()[2:]),
        (b"traceparent", b"00-" + b"0" * 32 + b"-00f067aa0ba902b7-01"),
        (b"traceparent", b"00-4bf92f3577b34da6a3ce929d0e0e4736-" + b"0" * 16 + b"-01"),
    ],
)
def test_what_is_not_of_its_form_is_not_repeated(name: bytes, value: bytes) -> None:
    assert trace_of([(name, value)]) == ()


def test_of_several_headers_of_one_name_the_first_counts() -> None:
    first, parent = (b"x-request-id", b"a" * MAX_REQUEST_ID), (b"traceparent", PARENT.encode())
    assert trace_of([first, (b"x-request-id", b"b"), (b"host", b"c"), parent, parent]) == (first, parent)
