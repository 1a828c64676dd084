"""Check and encode texts for every route, and place an error in its text."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from service.errors import ServiceError, from_core
from service.http.response_json import TokenStrings, report_bytes
from service.registry.served import ServedTokenizer
from service.schemas.requests import ChatOptions, TextOrChatRequest, TextRequest
from tokenizer_core import EncodedPair, Offsets, SamplingOptions, TokdError, Tokenizer, Unit

Ids = npt.NDArray[np.uint32]
Array = npt.NDArray[Any]

_OF_CHATS = (*ChatOptions.model_fields, "train_on", "train_reasoning")


def require_text(request: TextOrChatRequest) -> None:
    """Refuse a request without chats that has no text, options of chats, or not as many second texts as first ones."""
    given, (field, first) = request.model_fields_set, request.subject()
    if field not in given:
        raise ServiceError("missing_field", "this field is required, or messages in its place", "text")
    for name in _OF_CHATS:
        # Null is what a client sends for an option that is not set.
        if name in given and getattr(request, name) is not None:
            raise ServiceError("invalid_option", f"{name} is an option of chats; send messages, or leave it out", name)
    second = request.text_pair
    if second is None or request.shares_text():
        return
    if isinstance(first, str) is not isinstance(second, str):
        one = "one text, as text is; /encode takes a list beside one text"
        wanted = one if isinstance(first, str) else "a list of texts, as text is"
        raise ServiceError("invalid_type", f"this must be {wanted}", "text_pair")
    if not isinstance(first, str) and len(first) != len(second):
        raise ServiceError("invalid_value", f"there are {len(first)} texts and {len(second)} second ones", "text_pair")


def token_texts(tokenizer: Tokenizer, ids: Ids) -> TokenStrings:
    """Return the text of every id alone; what is not a whole character shows U+FFFD."""
    return TokenStrings(ids, lambda id: tokenizer.token_bytes(id).decode("utf-8", "replace"))


def refuse_large_frames(
    loaded: ServedTokenizer,
    texts: Collection[str | list[str]],
    max_ids: int,
    path: str = "text",
    *,
    pairs: bool = False,
    nbest: int = 1,
) -> None:
    """Refuse texts that take more ids for what frames them than for themselves, before any id is made.

    Errors:
        ``too_many_ids``
    """
    framing = loaded.frame_sizes[pairs] * len(texts) * nbest
    if framing > max_ids and framing > nbest * sum(map(len, texts)):
        detail = f"what frames {len(texts)} texts takes {framing} ids, and there may be {max_ids}; send fewer texts"
        raise ServiceError("too_many_ids", detail, path)


def is_one(field: str, given: Any) -> bool:
    """Tell whether a field has one text, or one list of words or of labels, and not a list of such, or an empty one."""
    return bool(given) and not isinstance(given[0], list) if field.startswith("word") else isinstance(given, str)


def texts_of(request: TextRequest) -> list[Any]:
    """Return the texts of a request, which may be one, as strings or as lists of words."""
    _, given = subject = request.subject()
    return [given] if is_one(*subject) else given


def seconds_of(request: TextRequest) -> list[str] | None:
    """Return the second texts of a request, of which there may be one."""
    return [request.text_pair] if isinstance(request.text_pair, str) else request.text_pair


def about_text(error: TokdError, request: TextRequest, index: int = 0) -> ServiceError:
    """Place an error of the core in the text it is about, which may be the second of a pair."""
    field, given = request.subject()
    if error.place.get("field") == "word_ids":
        error.place["field"] = "return"
    is_of_pair = "row" in error.place and isinstance(request.text_pair, list)
    if is_of_pair and error.place.get("field") in ("truncation", "stride"):
        # The option may fit other pairs.
        error.place["field"] = "text_pair"
    if error.place.get("field") in ("text_pair", "word_labels") and "row" in error.place:
        field = error.place.pop("field")
        given = getattr(request, field)
    is_alone = is_one(field, given)
    if error.code == "reserved_literal":
        start, end = error.place["span"]
        text = given if is_alone else given[index]
        error.place["literal"] = (text if isinstance(text, str) else text[error.place["index"]])[start:end]
    return from_core(error, field if is_alone else f"{field}[{index}]")


def encode_rows(tokenizer: Tokenizer, request: TextRequest, threads: int, sampling: SamplingOptions) -> list[Ids]:
    """Encode all texts; ``threads`` may work on a list of them."""
    try:
        encoded = tokenizer.encode_batch(
            texts_of(request),
            special_tokens=request.special_tokens,
            add_special_tokens=request.add_special_tokens,
            threads=threads,
            **sampling,
        )
    except TokdError as error:
        raise about_text(error, request, error.place.get("row") or 0) from error
    report_bytes(encoded.ids.nbytes)
    return list(encoded)


def offsets_of(loaded: ServedTokenizer, request: TextRequest, index: int, unit: Unit) -> Offsets:
    """Encode one of the texts with the span of every id."""
    text = texts_of(request)[index]
    try:
        offsets = loaded.tokenizer.offsets(
            text, unit, special_tokens=request.special_tokens, add_special_tokens=request.add_special_tokens
        )
    except TokdError as error:
        raise about_text(error, request, index) from error
    report_bytes(offsets.ids.nbytes + offsets.spans.nbytes)
    return offsets


def encode_pairs(loaded: ServedTokenizer, request: TextRequest, threads: int, **options: Any) -> list[EncodedPair]:
    """Encode all texts with their second texts, if there are any; ``options`` are those of ``encode_pair``."""
    try:
        encoded = loaded.tokenizer.encode_pair_batch(
            request.text if request.shares_text() else texts_of(request),
            seconds_of(request),
            threads=threads,
            special_tokens=request.special_tokens,
            add_special_tokens=request.add_special_tokens,
            **options,
        )
    except TokdError as error:
        raise about_text(error, request, error.place.get("row") or 0) from error
    report_bytes(sum(map(_bytes_of, encoded)))
    return encoded


def _bytes_of(pair: EncodedPair) -> int:
    arrays = pair.ids, pair.type_ids, pair.sequence_ids, pair.spans, pair.word_ids, pair.labels
    return sum(0 if array is None else array.nbytes for array in arrays)
