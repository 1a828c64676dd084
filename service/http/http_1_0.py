"""Answers of no known length for callers of HTTP/1.0, who know no chunks: such an answer ends with the connection.

RFC 9112, section 6.1, forbids to send them chunks, which uvicorn does.
"""

from __future__ import annotations

from uvicorn._types import ASGI3Application, ASGIReceiveCallable, ASGISendCallable, ASGISendEvent, Scope
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle


def unframed(app: ASGI3Application, cycle: RequestResponseCycle) -> ASGI3Application:
    """Return the application for one request of HTTP/1.0, whose connection ends with the answer in any case."""

    async def answer(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        ends_with_connection = False

        async def send_unframed(event: ASGISendEvent) -> None:
            nonlocal ends_with_connection
            if event["type"] == "http.response.start":
                names = {name.lower() for name, _ in event.get("headers", ())}
                ends_with_connection = b"content-length" not in names
                if ends_with_connection:
                    # Not chunked, and every part is as long as it says: nothing is left for uvicorn to add or to check.
                    cycle.chunked_encoding = False
            elif event["type"] == "http.response.body" and ends_with_connection:
                cycle.expected_content_length = len(event.get("body", b""))
            await send(event)

        try:
            await app(scope, receive, send_unframed)
        except BaseException:
            if ends_with_connection:
                # An ordinary end would be taken for that of the answer.
                cycle.transport.abort()
            raise

    return answer
