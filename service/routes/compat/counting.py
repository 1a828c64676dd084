"""The common parts of the requests and answers of the counting routes, beyond those that their peers have."""

from __future__ import annotations

from typing import Any

import orjson
from pydantic import BaseModel, Field

from service.http.response_json import Answer
from service.registry.served import ServedTokenizer
from service.request_log import Trace
from service.routes.compat import prompts
from service.routes.compat.body_objects import Uncountable

UNCOUNTABLE: Any = Field(
    None,
    description="What happens to what is not text, such as images and tools of other kinds: `refuse`, or `skip`, which "
    "counts the rest and lists in `skipped` what was left out. The default is this server's setting `uncountable`.",
)
SKIPPED: Any = Field(None, description="What was left out of the count; only if `uncountable` is `skip`.")


class Skipped(BaseModel):
    """Something of a request that is not in its count."""

    path: str = Field(description="Its field in the request.")
    type: str = Field(description="What it is.")


def counted(loaded: ServedTokenizer, headers: Trace, tokens: int, head: bytes, uncountable: Uncountable) -> Answer:
    """Return an answer that begins with ``head`` and says what is not in the count."""
    skipped = b',"skipped":' + orjson.dumps(uncountable.skipped) if uncountable.skips else b""
    return prompts.written(loaded, headers, tokens, head, skipped, b"}")
