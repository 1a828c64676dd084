"""``POST /encode``: text or chats to ids, as JSON, bare bytes or Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, cast

import numpy as np
from fastapi import FastAPI

from service.errors import ServiceError, from_core
from service.http import media, response_arrow, response_binary
from service.http.json_body import parser, require_json
from service.http.plain_chats import PlainTextsOrChats
from service.http.response_json import Answer, Rows, Writer, report_bytes, write
from service.registry.served import ServedTokenizer
from service.request_log import Headers
from service.routes import chats, continued_chats, segmentations
from service.routes.hashed_blocks import hashed
from service.routes.json_route import PROBLEM_RESPONSES, Endpoint, Handler, Negotiate, Responses, post
from service.routes.pairs import SequenceIds, encode_pairs, require_pairs, truncated
from service.routes.shaping import shape
from service.routes.texts import (
    Array,
    Ids,
    encode_rows,
    offsets_of,
    refuse_large_frames,
    require_text,
    texts_of,
    token_texts,
)
from service.schemas.answers import EncodeAnswer
from service.schemas.fields import CHAT_PARTS, PAIR_PARTS, SAMPLING, SEGMENTATIONS
from service.schemas.requests import EncodeRequest
from service.state import ServerState
from tokenizer_core import (
    EncodedChat,
    EncodedPair,
    Row,
    SamplingOptions,
    Side,
    TokdError,
    Tokenizer,
)

IGNORED_LABEL = -100
_PLAIN = ("ids", "count")

MAX_DRAWN = 1 << 20
"""The most characters of a text that is drawn at random: sampling takes up to 100 bytes for a byte of it."""

_BYTES = {"schema": {"type": "string", "format": "binary"}}
RESPONSES: Responses = {
    200: {"description": "As `accept` asks for.", "content": {media.OCTETS: _BYTES, media.ARROW: _BYTES}},
    **PROBLEM_RESPONSES,
}
_WRITERS: dict[str, Writer] = {
    media.JSON: write,
    media.OCTETS: response_binary.write,
    media.ARROW: response_arrow.write,
}


def mount(app: FastAPI, state: ServerState) -> None:
    """Declare the route."""
    post(
        app,
        state,
        "/encode",
        encode,
        state.requests.to_encode,
        EncodeAnswer,
        responses=RESPONSES,
        plain=PlainTextsOrChats("encode", state.current.registry, state.settings, state.limits.threads),
        negotiate=negotiator(state),
        other_bodies={media.ARROW: _BYTES},
    )


def encode(state: ServerState, body: EncodeRequest) -> Answer:
    """Turn text into ids, with masks, spans and labels as asked for, cut and padded as asked for."""
    return _encode_as(state, write, body)


def _encode_as(state: ServerState, writer: Writer, body: EncodeRequest) -> Answer:
    loaded, max_ids = state.registry.get(body.tokenizer), state.settings.max_ids
    if body.messages is not None:
        return _encode_chats(loaded, body, state, writer)
    return encode_texts(loaded, body, max_ids=max_ids, threads=state.limits.threads, writer=writer)


def _endpoint(state: ServerState, writer: Writer) -> Endpoint:
    current = state.current
    return lambda body: _encode_as(current.state, writer, body)


def _require_nothing(_: bytes) -> None:
    """Take any media type: the handler was chosen by it."""


def negotiator(state: ServerState) -> Negotiate:
    """Return what finds the handler of a request by the formats of its body and of the answer that it accepts."""
    parse = parser(state.requests.to_encode)
    max_items = state.settings.max_items
    has_arrow = response_arrow.is_there()
    offers = (media.JSON, media.OCTETS, media.ARROW) if has_arrow else (media.JSON, media.OCTETS)
    handlers: dict[tuple[str, str], Handler | None] = {
        (sent, wanted): Handler(
            partial(response_arrow.read, parse=parse, max_items=max_items) if sent == media.ARROW else parse,
            _endpoint(state, _WRITERS[wanted]),
            _require_nothing if sent == media.ARROW else require_json,
            media.ARROW in (sent, wanted),
        )
        for sent in (media.JSON, media.ARROW)
        for wanted in offers
    }
    handlers[media.JSON, media.JSON] = None

    def negotiate(headers: Headers) -> Handler | None:
        if media.is_json(headers):
            return None
        wanted = media.wanted(headers, offers)
        sent = media.sent(headers)
        if sent == media.ARROW_FILE:
            detail = f"the body is a file of Arrow; write it in the stream format and send it as {media.ARROW}"
            raise ServiceError("unsupported_media_type", detail, "header content-type")
        if sent != media.ARROW:
            # A body that is neither Arrow nor JSON is refused where bodies of JSON are checked.
            return handlers[media.JSON, wanted]
        if not has_arrow:
            raise ServiceError(
                "unsupported_media_type",
                "this server has no pyarrow; install tokd[arrow] there, or send JSON",
                "header content-type",
                headers=((b"accept", b"application/json"),),
            )
        return handlers[media.ARROW, wanted]

    return negotiate


def encode_texts(
    loaded: ServedTokenizer, request: EncodeRequest, *, max_ids: int, threads: int, writer: Writer = write
) -> Answer:
    """Answer for texts.

    Args:
        max_ids: what padding may bring the request to.
        threads: how many may work on a list of texts.
    """
    require_text(request)
    require_pairs(request)
    _refuse_prefix(request)
    if request.add_special_tokens:
        pairs, nbest = request.text_pair is not None, request.nbest or 1
        refuse_large_frames(loaded, texts_of(request), max_ids, pairs=pairs, nbest=nbest)
    if segmentations.are_asked(request):
        return segmentations.list_best(loaded, request, max_ids, writer)
    _require_second(request)
    sampling = _sampling(request)
    if request.text_pair is not None or not set(PAIR_PARTS).isdisjoint(request.parts):
        return _encode_pairs(loaded, request, max_ids, threads, writer)
    if request.parts == _PLAIN and request.block_hashes is None and _is_unshaped(request):
        rows = encode_rows(loaded.tokenizer, request, threads, sampling)
        counts = [len(row) for row in rows]
        return writer(loaded, request.text, {"ids": rows, "count": counts}, sum(counts))
    return _encode_shaped(loaded, request, max_ids, threads, writer, sampling)


def _sampling(request: EncodeRequest) -> SamplingOptions:
    """Return how segmentations are drawn; what goes with texts alone and their ids is refused beside it."""
    given = {name: value for name in SAMPLING if (value := getattr(request, name)) is not None}
    if given:
        first = next(iter(given))
        if request.messages is not None or request.text_pair is not None:
            raise ServiceError("invalid_option", f"{first} goes with single texts, not with chats and pairs", first)
        _refuse_parts(request, (*PAIR_PARTS, "spans", "truncated"), "what is not drawn at random")
        for at, text in enumerate(texts_of(request)):
            if len(text) > MAX_DRAWN:
                detail = f"a text of at most {MAX_DRAWN} characters is drawn, not of {len(text)}; cut it into documents"
                raise ServiceError("invalid_option", detail, "text" if isinstance(request.text, str) else f"text[{at}]")
    return cast("SamplingOptions", given)


def _is_unshaped(request: EncodeRequest) -> bool:
    given = (request.max_length, request.pad_to_multiple_of, request.pad_token)
    return request.padding == "none" and all(option is None for option in given)


def _encode_shaped(
    loaded: ServedTokenizer,
    request: EncodeRequest,
    max_ids: int,
    threads: int,
    writer: Writer,
    sampling: SamplingOptions,
) -> Answer:
    _refuse_parts(request, CHAT_PARTS, "chats; send messages")
    tokenizer = loaded.tokenizer
    spans: list[Array] = []
    if "spans" in request.parts or "truncated" in request.parts:
        encoded = [offsets_of(loaded, request, index, "char") for index in range(len(texts_of(request)))]
        rows, spans = [each.ids for each in encoded], [each.spans for each in encoded]
    else:
        rows = encode_rows(tokenizer, request, threads, sampling)
    try:
        shaped = shape(tokenizer, rows, request, max_ids, has_frame=request.add_special_tokens)
    except TokdError as error:
        raise from_core(error) from error

    def made(part: str) -> Iterator[Any]:
        if part == "spans":
            return (row.carry(own) for row, own in zip(shaped, spans, strict=True))
        if part == "truncated":
            return (_truncated(row, own) for row, own in zip(shaped, spans, strict=True))
        return (_PARTS[part](tokenizer, row) for row in shaped)

    fields: Rows = {**{part: made(part) for part in request.parts}, **_hashed(request, shaped)}
    return writer(loaded, request.text, fields, sum(row.count for row in shaped))


def _hashed(request: EncodeRequest, shaped: Sequence[Row]) -> Rows:
    return hashed(request.block_hashes, (row.ids[row.pad_left : len(row.ids) - row.pad_right] for row in shaped))


def _require_second(request: EncodeRequest) -> None:
    if request.truncation == "only_second" and request.text_pair is None:
        raise ServiceError("invalid_option", 'truncation "only_second" needs a second text, text_pair', "truncation")


def _refuse_parts(request: EncodeRequest, alien: tuple[str, ...], of: str) -> None:
    found = next((part for part in request.parts if part in alien), None)
    if found is not None:
        raise ServiceError("invalid_option", f"{found} is a part of {of}, or leave it out", "return")


def _encode_pairs(
    loaded: ServedTokenizer, request: EncodeRequest, max_ids: int, threads: int, writer: Writer
) -> Answer:
    """Answer for pairs of texts, or for texts whose type ids are wanted."""
    _refuse_parts(request, CHAT_PARTS, "chats; send messages")
    tokenizer = loaded.tokenizer
    parts = request.parts
    if "parts" not in request.model_fields_set and writer is not response_binary.write:
        parts = (*parts, *PAIR_PARTS)
    side = request.truncation_side or tokenizer.settings.truncation_side
    encoded = encode_pairs(
        loaded,
        request,
        threads,
        max_length=request.max_length,
        truncation=request.truncation,
        truncation_side=side,
        unit=None if {"spans", "truncated"}.isdisjoint(parts) else "char",
    )
    try:
        shaped = shape(tokenizer, [pair.ids for pair in encoded], request, max_ids, has_frame=False)
    except TokdError as error:
        raise from_core(error) from error

    def made(part: str) -> Iterator[Any]:
        return (_part_of_pair(part, tokenizer, row, pair, side) for row, pair in zip(shaped, encoded, strict=True))

    fields: Rows = {**{part: made(part) for part in parts}, **_hashed(request, shaped)}
    return writer(loaded, request.text, fields, sum(row.count for row in shaped))


def _part_of_pair(part: str, tokenizer: Tokenizer, row: Row, pair: EncodedPair, side: Side) -> Any:
    """Make one field of a shaped pair."""
    match part:
        case "spans" if pair.spans is not None:
            return row.carry(pair.spans)
        case "type_ids":
            return row.carry(pair.type_ids)
        case "sequence_ids":
            return SequenceIds(row.carry(pair.sequence_ids, -1))
        case "special_tokens_mask":
            return row.carry(pair.special_tokens_mask(), 1)
        case "truncated":
            return truncated(pair, side)
        case _:
            return _PARTS[part](tokenizer, row)


def _truncated(row: Row, spans: Array) -> dict[str, Any] | None:
    """Say what truncation took of a row whose ids had ``spans`` before: whole ids, so never a part of a token."""
    cut = row.cut
    if not cut.removed:
        return None
    taken = spans[cut.start : cut.start + cut.removed]
    return {"side": cut.side, "count": cut.removed, "span": [int(taken[:, 0].min()), int(taken[:, 1].max())]}


def _labels(row: Row) -> Array:
    labels = row.ids.astype(np.int64)
    labels[: row.pad_left] = IGNORED_LABEL
    labels[len(labels) - row.pad_right :] = IGNORED_LABEL
    return labels


_PARTS: dict[str, Callable[[Tokenizer, Row], Any]] = {
    "ids": lambda _, row: row.ids,
    "count": lambda _, row: row.count,
    "tokens": lambda tokenizer, row: token_texts(tokenizer, row.ids),
    "attention_mask": lambda _, row: row.attention_mask(),
    "special_tokens_mask": lambda _, row: row.special_tokens_mask(),
    "position_ids": lambda _, row: row.position_ids(),
    "labels": lambda _, row: _labels(row),
}
"""The functions that make the fields of a shaped row, but for its spans."""


def _encode_chats(loaded: ServedTokenizer, request: EncodeRequest, state: ServerState, writer: Writer) -> Answer:
    """Answer for chats."""
    _sampling(request)
    _refuse_parts(request, (*PAIR_PARTS, SEGMENTATIONS), "texts; send text")
    _require_second(request)
    if continued_chats.is_asked(request):
        _require_json(writer)
        return continued_chats.encode(loaded, request, state.settings)
    tokenizer = loaded.tokenizer
    encoded = []
    for chat in chats.encode(loaded, request, state.settings):
        encoded.append(chat)
        report_bytes(chats.encoded_size(chat))
    rows: list[Ids] = [chat.ids for chat in encoded]

    def made(part: str) -> Iterator[Any]:
        if part == "prefix_stable":
            return iter([continued_chats.stable(loaded, request, state.settings)])
        return (_part(part, tokenizer, row, chat, request) for row, chat in zip(shaped, encoded, strict=True))

    try:
        shaped = shape(tokenizer, rows, request, state.settings.max_ids, has_frame=False)
        unused = chats.unused(request, [chat.rendered for chat in encoded])
        fields: Rows = {**{part: made(part) for part in request.parts}, **unused, **_hashed(request, shaped)}
        total = sum(row.count for row in shaped)
        return writer(loaded, chats.shape(request), fields, total, template=encoded[0].rendered.template)
    except TokdError as error:
        raise from_core(error) from error


def _refuse_prefix(request: EncodeRequest) -> None:
    if continued_chats.is_asked(request):
        raise ServiceError("invalid_option", "a prefix goes with messages", "prefix_ids")


def _require_json(writer: Writer) -> None:
    if writer is not write:
        raise ServiceError("invalid_option", "a chat with prefix_ids is answered as JSON", "prefix_ids")


def _part(part: str, tokenizer: Tokenizer, row: Row, chat: EncodedChat, request: EncodeRequest) -> Any:
    """Make one field of a shaped chat."""
    match part:
        case "spans":
            return row.carry(chat.spans)
        case "truncated":
            return _truncated(row, chat.spans)
        case "special_tokens_mask":
            return row.carry(chat.control.astype(np.uint8), 1)
        case "labels":
            labels = chat.labels(train_on=request.train_on, reasoning=request.train_reasoning)
            return row.carry(labels, IGNORED_LABEL)
        case "assistant_mask":
            return row.carry(chat.assistant_mask)
        case "message_index":
            return row.carry(chat.message_index, -1)
        case "reserved_literals":
            return [{"start": at.start, "end": at.end, "literal": at.literal} for at in chat.reserved_literals]
        case _:
            return _PARTS[part](tokenizer, row)
