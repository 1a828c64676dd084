"""The best segmentations of texts with their scores: the part ``segmentations`` of ``/encode``."""

from __future__ import annotations

from typing import Any

import numpy as np

from service.errors import ServiceError
from service.http.response_json import Writer, report_bytes, write
from service.registry.served import ServedTokenizer
from service.routes.rows import Encoded
from service.routes.texts import about_text, texts_of
from service.schemas.requests import EncodeRequest
from tokenizer_core import MAX_NBEST, TokdError

_ASKED = ("segmentations",)
_TAKEN = frozenset(("tokenizer", "text", "special_tokens", "add_special_tokens", "nbest", "parts"))
"""Fields of a request that mean something for a list of segmentations."""


def encode(loaded: ServedTokenizer, request: EncodeRequest, max_ids: int, writer: Writer) -> Encoded:
    """List the ``nbest`` most probable segmentations of each text; there may be fewer."""
    count = _checked(request, writer)
    # Hardly a token has less than a character: only bytes of characters that are no entries, and what frames a text.
    most = count * sum(len(text) for text in texts_of(request))
    if most > max_ids:
        detail = f"{count} segmentations of these texts have {most} characters, and {max_ids} are listed at most"
        raise ServiceError("too_many_ids", f"{detail}; ask for fewer, or send less text", "nbest")
    ids, sources = [], []
    policy, framed = request.special_tokens, request.add_special_tokens
    for index, text in enumerate(texts_of(request)):
        try:
            best = loaded.tokenizer.nbest(text, count, special_tokens=policy, add_special_tokens=framed)
        except TokdError as error:
            if error.place.get("field") == "n":
                error.place["field"] = "nbest"
            raise about_text(error, request, index) from error
        ids.append(np.concatenate([each.ids for each in best]))
        report_bytes(ids[-1].nbytes)
        sources.append([{"ids": each.ids, "score": each.score} for each in best])
    return Encoded(ids, sources, request.text, request.parts, frame=None)


def _checked(request: EncodeRequest, writer: Writer) -> int:
    if request.parts != _ASKED or writer is not write:
        detail = "segmentations are answered alone and as JSON; ask for the other parts in another request"
        raise ServiceError("invalid_option", detail, "return")
    for name, field in type(request).model_fields.items():
        value: Any = getattr(request, name)
        if name not in _TAKEN and value is not None and value != field.default:
            raise ServiceError("invalid_option", f"{name} does not go with segmentations; leave it out", name)
    if request.nbest is None or request.nbest < 1:
        detail = f"segmentations need how many to list: nbest, from 1 to {MAX_NBEST}"
        raise ServiceError("invalid_option", detail, "nbest")
    return request.nbest
