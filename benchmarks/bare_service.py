"""The ceiling: what uvicorn allows Python. A bare ASGI call reads the body, asks our kernel and sends its bytes.

There are no limits, no metrics, no options, no errors and no framework: nobody could serve this.
"""

from __future__ import annotations

import os
from typing import Any

import orjson

from tokenizer_core import Tokenizer

_tokenizer = Tokenizer.open(os.environ["BENCHMARK_ARTIFACT"])
_JSON = (b"content-type", b"application/json")


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Answer ``/encode``; any ``GET`` says that the server is ready."""
    if scope["type"] != "http":
        return
    body = b"{}"
    if scope["method"] == "POST":
        message = await receive()
        read = message["body"]
        while message.get("more_body", False):
            message = await receive()
            read += message["body"]
        ids, count = _tokenizer.encode_json(orjson.loads(read)["text"], special_tokens="text", add_special_tokens=True)
        body = b'{"ids":%b,"count":%d}' % (ids, count)
    headers = [_JSON, (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
