"""Spans of OpenTelemetry: one a request, sent to a collector in batches by a thread of the SDK (extra ``otel``)."""

from __future__ import annotations

import threading
from importlib import import_module
from time import time_ns
from typing import Any
from urllib.parse import urlsplit

from service.request_log import LogEntry
from service.setting_values import InvalidSetting
from service.settings import Settings
from tokenizer_core import VERSION

END_SECONDS = 1.0
"""Time that a stopping server waits for its last spans to be taken."""

_PATH = "/v1/traces"
_MODULES = (
    "opentelemetry.trace",
    "opentelemetry.sdk.trace",
    "opentelemetry.sdk.trace.export",
    "opentelemetry.sdk.resources",
    "opentelemetry.trace.propagation.tracecontext",
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
)
_ATTRIBUTES = {
    "http.request.method": "method",
    "http.route": "route",
    "http.response.status_code": "status",
    "http.request.body.size": "bytes_in",
    "http.response.body.size": "bytes_out",
    "client.address": "client",
    "error.type": "code",
    "tokd.tokenizer": "tokenizer",
    "tokd.tokens": "tokens",
    "tokd.key": "key",
}
"""The fields of the log by the names of the semantic conventions; what is empty is left out."""


class Spans:
    """Spans on their way to a collector.

    Args:
        endpoint: where it takes OTLP over HTTP, such as ``http://127.0.0.1:4318``.

    Raises:
        InvalidSetting: it is no URL, or the extra is not installed.
    """

    def __init__(self, endpoint: str) -> None:
        parts = urlsplit(endpoint)
        if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
            wrong = f"is {endpoint[:80]!r}; it is a URL such as http://127.0.0.1:4318"
            raise InvalidSetting("otlp_endpoint", wrong)
        try:
            trace, sdk, batching, resources, propagation, export = map(import_module, _MODULES)
        except ImportError:
            raise InvalidSetting("otlp_endpoint", "needs OpenTelemetry; pip install 'tokd[otel]'") from None
        self._server, self._status, self._error = trace.SpanKind.SERVER, trace.Status, trace.StatusCode.ERROR
        self._propagator = propagation.TraceContextTextMapPropagator()
        resource = resources.Resource.create({"service.name": "tokd", "service.version": VERSION})
        self._provider: Any = sdk.TracerProvider(resource=resource, shutdown_on_exit=False)
        where = endpoint if parts.path.rstrip("/") else endpoint.rstrip("/") + _PATH
        exporter = export.OTLPSpanExporter(endpoint=where)
        self._provider.add_span_processor(batching.BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("tokd", VERSION)

    @classmethod
    def of(cls, settings: Settings) -> Spans | None:
        """Return the spans of a server, if its settings name a collector."""
        return None if settings.otlp_endpoint is None else cls(settings.otlp_endpoint)

    def add(self, log_entry: LogEntry, seconds: float) -> None:
        """Note a request that is answered; its ``traceparent`` names the parent, and says whether it is sampled."""
        end = time_ns()
        carrier = {name.decode("ascii"): value.decode("ascii") for name, value in log_entry.trace}
        found = ((name, getattr(log_entry, field)) for name, field in _ATTRIBUTES.items())
        span = self._tracer.start_span(
            f"{log_entry.method} {log_entry.route}",
            context=self._propagator.extract(carrier),
            kind=self._server,
            attributes={name: value for name, value in found if value != ""},
            start_time=end - int(seconds * 1e9),
        )
        if log_entry.status >= 500:
            span.set_status(self._status(self._error))
        span.end(end)

    def close(self) -> None:
        """Send what is left, as far as the collector takes it in a short time."""
        ending = threading.Thread(target=self._provider.shutdown, name="tokd-spans", daemon=True)
        ending.start()
        ending.join(END_SECONDS)
