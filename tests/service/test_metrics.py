"""Counting: what is counted, and that callers cannot make labels."""

from __future__ import annotations

import re

from tests.service.conftest import MakeClient
from tokenizer_core import Tokenizer


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
    assert f'tokd_tokenizer{{hash="{framed.hash}",name="framed"}} {float(framed.vocab_size)}' in page
    assert "tokd_requests_in_flight 1.0" in page
    assert "process_resident_memory_bytes" in page


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
