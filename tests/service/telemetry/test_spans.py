"""A collector gets one span a request, below the caller's; one that is gone costs no answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from service.setting_values import InvalidSetting
from service.telemetry.spans import Spans
from tests.service.conftest import RunServer

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@contextmanager
def collector() -> Iterator[tuple[str, list[ExportTraceServiceRequest]]]:
    """Run a collector; yield its address and what it got."""
    got: list[ExportTraceServiceRequest] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/traces"
            got.append(ExportTraceServiceRequest.FromString(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", got
        finally:
            server.shutdown()
            thread.join()


def attributes(span: Span) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value") or "") for each in span.attributes}


def test_each_request_is_a_span_below_that_of_its_caller(run_server: RunServer) -> None:
    with collector() as (endpoint, got), run_server(otlp_endpoint=endpoint) as server:
        headers = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
        server.client.post("/encode", json={"text": "a fox"}, headers=headers)
        server.client.post("/encode", json={"texts": "a"}, headers=headers)
        server.client.post("/encode", json={"text": "b"}, headers={"traceparent": f"00-{TRACE}-{PARENT}-00"})
        server.client.get("/tokenizers")
        server.stop()
    (resource,) = {str(each.resource) for request in got for each in request.resource_spans}
    assert "tokd" in resource
    spans = [s for request in got for each in request.resource_spans for scope in each.scope_spans for s in scope.spans]
    ours = [span for span in spans if span.trace_id.hex() == TRACE]
    # The one that its caller did not sample is not there.
    assert [attributes(span)["http.response.status_code"] for span in ours] == [200, 422]
    for span in ours:
        assert (span.name, span.kind, span.parent_span_id.hex()) == ("POST /encode", Span.SPAN_KIND_SERVER, PARENT)
        assert 0 <= span.end_time_unix_nano - span.start_time_unix_nano < 10**10
        assert abs(time.time_ns() - span.end_time_unix_nano) < 10**11
    good, wrong = map(attributes, ours)
    assert good["tokd.tokens"] > 0
    assert good["tokd.tokenizer"].startswith("sha256:")
    assert "error.type" not in good
    assert wrong["error.type"] == "unknown_field"
    assert all(span.status.code == Status.STATUS_CODE_UNSET for span in ours)
    assert "GET /tokenizers" in {span.name for span in spans}


def test_a_collector_that_is_gone_delays_neither_answers_nor_the_end(run_server: RunServer) -> None:
    with run_server(otlp_endpoint="http://127.0.0.1:9") as server:
        for _ in range(20):
            assert server.client.post("/encode", json={"text": "a"}).status_code == 200
        begin = time.monotonic()
        server.stop()
        assert time.monotonic() - begin < 10
        assert server.process.returncode == 0


@pytest.mark.parametrize("endpoint", ["", "collector:4318", "ftp://a", "http://", "http://a?b", "http://a#b"])
def test_what_is_no_url_is_refused(endpoint: str) -> None:
    with pytest.raises(InvalidSetting, match="otlp_endpoint"):
        Spans(endpoint)


def test_without_the_extra_the_setting_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(InvalidSetting, match=r"tokd\[otel\]"):
        Spans("http://127.0.0.1:4318")
