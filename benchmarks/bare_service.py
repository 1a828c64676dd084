"""The ceilings: what uvicorn allows Python. A bare ASGI call reads the body, asks our kernel and sends the answer.

``app`` writes ids from the array that they come in, ``app_with_lists`` gives them as Python's integers, as tokenizers
of the field do. There are no limits, no metrics, no options, no errors and no framework: nobody could serve this.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import Any

import orjson

from tokenizer_core import Tokenizer

_tokenizer = Tokenizer.open(os.environ["BENCHMARK_ARTIFACT"])
_JSON = (b"content-type", b"application/json")

App = Callable[[dict[str, Any], Any, Any], Awaitable[None]]


def _from_array(text: str) -> bytes:
    ids = _tokenizer.encode(text, special_tokens="text", add_special_tokens=True)
    return orjson.dumps({"ids": ids, "count": len(ids)}, option=orjson.OPT_SERIALIZE_NUMPY)


def _with_lists(text: str) -> bytes:
    ids = _tokenizer.encode(text, special_tokens="text", add_special_tokens=True).tolist()
    return orjson.dumps({"ids": ids, "count": len(ids)})


def _answering(answer: Callable[[str], bytes]) -> App:
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
            body = answer(orjson.loads(read)["text"])
        headers = [_JSON, (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return app


app = _answering(_from_array)
app_with_lists = _answering(_with_lists)
