"""The internals of uvicorn that connections use, and the check that they exist."""

from __future__ import annotations

from collections.abc import Mapping

import uvicorn
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from tokenizer_core import Unsupported

VERSIONS = "0.54"
"""Those that ``pyproject.toml`` takes."""

_PROTOCOL = """
    _start_asgi_task app client connection_lost connection_made connections cycle data_received eof_received
    expect_100_continue flow headers logger loop on_body on_header on_headers_complete on_message_begin
    on_message_complete on_response_complete on_url parser pause_writing pipeline resume_writing scope send_400_response
    server_state shutdown timeout_keep_alive timeout_keep_alive_handler timeout_keep_alive_task transport
"""
_CYCLE = """
    chunked_encoding disconnected expected_content_length flow keep_alive message_event more_body on_response
    response_complete response_started scope transport waiting_for_100_continue
"""
_FLOW = "pause_reading read_paused resume_reading write_paused"
USED: Mapping[type, frozenset[str]] = {
    HttpToolsProtocol: frozenset(_PROTOCOL.split()),
    RequestResponseCycle: frozenset(_CYCLE.split()),
    FlowControl: frozenset(_FLOW.split()),
}
"""Methods, and attributes that constructors set."""


def names_of(kind: type) -> set[str]:
    """Return what a class has, and what its constructor sets or reads."""
    return {*dir(kind), *kind.__dict__["__init__"].__code__.co_names}


def require_uvicorn() -> None:
    """Refuse a uvicorn that lacks any of it: connections would fail one by one, and bounds would not hold.

    Raises:
        Unsupported
    """
    for kind, names in USED.items():
        for name in sorted(names - names_of(kind)):
            raise Unsupported(
                f"uvicorn {uvicorn.__version__} has no {kind.__name__}.{name}, which bounds on connections need; "
                f"install uvicorn {VERSIONS}"
            )
