"""Pairs of texts on the routes of texts, and type ids of texts alone."""

from __future__ import annotations

from typing import Any

from service.errors import ServiceError
from service.http.response_json import report_bytes
from service.registry.served import ServedTokenizer
from service.routes.texts import Array, about_text, texts_of
from service.schemas.requests import TextRequest
from tokenizer_core import EncodedPair, TokdError


def require_pairs(request: TextRequest) -> None:
    """Refuse second texts that are not as many as the first ones, one for one or a list for a list."""
    first, second = request.text, request.text_pair
    if second is None:
        return
    if isinstance(first, str) is not isinstance(second, str):
        wanted = "one text, as text is" if isinstance(first, str) else "a list of texts, as text is"
        raise ServiceError("invalid_type", f"this must be {wanted}", "text_pair")
    if not isinstance(first, str) and len(first) != len(second):
        raise ServiceError("invalid_value", f"there are {len(first)} texts and {len(second)} second ones", "text_pair")


def pairs_of(request: TextRequest) -> list[str] | None:
    """Return the second texts of a request, of which there may be one."""
    return [request.text_pair] if isinstance(request.text_pair, str) else request.text_pair


def encode_pairs(loaded: ServedTokenizer, request: TextRequest, threads: int, **options: Any) -> list[EncodedPair]:
    """Encode all texts with their second texts, if there are any; ``options`` are those of ``encode_pair``."""
    try:
        encoded = loaded.tokenizer.encode_pair_batch(
            texts_of(request),
            pairs_of(request),
            threads=threads,
            special_tokens=request.special_tokens,
            add_special_tokens=request.add_special_tokens,
            **options,
        )
    except TokdError as error:
        raise about_text(error, request, error.place.get("row") or 0) from error
    report_bytes(sum(pair.ids.nbytes * (2 if pair.spans is None else 4) + len(pair.ids) for pair in encoded))
    return encoded


class SequenceIds:
    """0 and 1 for the texts and null for what belongs to none, made a slice at a time."""

    def __init__(self, values: Array) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, part: slice) -> list[int | None]:
        values: list[int] = self._values[part].tolist()
        return [None if value < 0 else value for value in values]


def truncated(pair: EncodedPair, side: str) -> list[dict[str, Any] | None] | None:
    """Say what truncation took of each text of a pair with spans."""
    if not any(pair.removed):
        return None
    taken = zip(pair.removed, pair.removed_spans, strict=True)
    return [None if span is None else {"side": side, "count": count, "span": list(span)} for count, span in taken]
