"""``POST /encode``: text or chats to ids, as JSON, bare bytes or Arrow.

Texts, pairs and chats become ids and sources. ``encode`` shapes the ids, makes the parts and has them written.
"""

from __future__ import annotations

from functools import partial
from typing import Any, cast

from fastapi import FastAPI

from service.errors import ServiceError, from_core
from service.http import media, response_arrow, response_binary
from service.http.json_body import parser
from service.http.plain_chats import PlainBytes, PlainTextsOrChats
from service.http.response_json import Answer, Writer, report_bytes, write
from service.registry.served import ServedTokenizer
from service.request_log import Headers
from service.routes import chats, continued_chats, segmentations
from service.routes.hashed_blocks import FIELD, hashes_of
from service.routes.json_route import PROBLEM_RESPONSES, Handler, Negotiate, Responses, post
from service.routes.rows import ChatSource, Encoded, PairSource, TextSource, shape
from service.routes.since import count_kept, new_of
from service.routes.texts import (
    Ids,
    encode_pairs,
    encode_rows,
    is_one,
    offsets_of,
    refuse_large_frames,
    require_text,
    seconds_of,
    texts_of,
)
from service.schemas.answers import EncodeAnswer
from service.schemas.fields import under_limits
from service.schemas.parts import PARTS, PLAIN, PartName, Subject, needs_of
from service.schemas.requests import EncodeRequest
from service.state import ServerState
from tokenizer_core import Row, SamplingOptions, TokdError

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
        EncodeRequest,
        EncodeAnswer,
        responses=RESPONSES,
        plain=PlainTextsOrChats("encode", state.current.registry, state.settings, state.limits.threads),
        negotiate=negotiator(state),
        other_bodies={media.ARROW: _BYTES},
    )


def negotiator(state: ServerState) -> Negotiate:
    """Return what finds the handler of a request by the formats of its body and of the answer that it accepts."""
    parse, current = parser(under_limits(EncodeRequest, state.settings)), state.current
    read = partial(response_arrow.read, parse=parse, max_items=state.settings.max_items)
    has_arrow = response_arrow.is_there()
    plain = {media.OCTETS: PlainBytes(current.registry, state.settings)}
    offers = tuple(_WRITERS) if has_arrow else (media.JSON, media.OCTETS)

    def negotiate(headers: Headers) -> Handler | None:
        if media.is_json(headers):
            return None
        wanted, sent = media.wanted(headers, offers), media.sent(headers)
        if sent == media.ARROW_FILE:
            detail = f"the body is a file of Arrow; write it in the stream format and send it as {media.ARROW}"
            raise ServiceError("unsupported_media_type", detail, "header content-type")
        if sent == media.ARROW and not has_arrow:
            detail = "this server has no pyarrow; pip install 'tokd[arrow]' there, or send JSON"
            accept = (b"accept", b"application/json")
            raise ServiceError("unsupported_media_type", detail, "header content-type", headers=(accept,))

        def answer(body: EncodeRequest) -> Answer:
            return encode(current.state, body, _WRITERS[wanted])

        if sent == media.ARROW:
            return Handler(read, answer, lambda _: None, is_heavy=True)
        if wanted == media.JSON:
            # A body that is neither Arrow nor JSON is refused where bodies of JSON are checked.
            return None
        return Handler(parse, answer, is_heavy=wanted == media.ARROW, plain=plain.get(wanted))

    return negotiate


def encode(state: ServerState, body: EncodeRequest, writer: Writer = write) -> Answer:
    """Turn text into ids, with masks, spans and labels as asked for, cut and padded as asked for."""
    loaded = state.registry.get(body.tokenizer)
    max_length = loaded.tokenizer.settings.max_length_for(body.truncation, body.max_length)
    if max_length != body.max_length:
        body = body.model_copy(update={"max_length": max_length})
    _check_words(body)
    encoded = (_texts if body.messages is None else _chats)(state, loaded, body, writer)
    if body.since is not None:
        if not isinstance(encoded.shape, str):
            raise ServiceError("invalid_option", "this goes with one text or chat", "since")
        if "parts" not in body.model_fields_set:
            encoded = encoded._replace(parts=tuple(name for name in encoded.parts if name != "ids"))
    fields: dict[str, Any]
    try:
        if encoded.parts == PLAIN and body.is_bare():
            # To make rows of many short texts would take as long as to encode them.
            counts = [len(row) for row in encoded.ids]
            fields = {"ids": encoded.ids, "count": counts, **encoded.more}
        else:
            rows = shape(loaded.tokenizer, encoded, body, state.settings.max_ids)
            counts = [row.count for row in rows]
            fields = {name: map(PARTS[name].make, rows, encoded.sources) for name in encoded.parts}
            fields |= encoded.more
            since, hashes = body.since, body.block_hashes
            if since is not None:
                fields |= {name: [value] for name, value in new_of(since, _unpadded(rows[0])).items()}
            if hashes is not None:
                bare = map(_unpadded, rows)
                fields[FIELD] = (hashes_of(hashes, ids, count_kept(since, ids)) for ids in bare)
        return writer(loaded, encoded.shape, fields, sum(counts), template=encoded.template)
    except TokdError as error:
        raise from_core(error) from error


def _unpadded(row: Row) -> Ids:
    return row.ids[row.pad_left :][: row.count]


def _texts(state: ServerState, loaded: ServedTokenizer, request: EncodeRequest, writer: Writer) -> Encoded:
    max_ids, threads, tokenizer = state.settings.max_ids, state.limits.threads, loaded.tokenizer
    require_text(request)
    texts, seconds, has_words = texts_of(request), seconds_of(request), request.words is not None
    if has_words and (count := sum(map(len, texts))) > max_ids:
        raise ServiceError("too_many_ids", f"there are {count} words, and may be {max_ids}; send fewer", "words")
    parts, needs, labels = request.parts, needs_of(request.parts), request.word_labels
    if request.begins_with_ids():
        raise ServiceError("invalid_option", "a prefix goes with messages", "prefix_ids")
    if request.add_special_tokens:
        rows_of = texts if seconds is None else seconds
        refuse_large_frames(
            loaded, rows_of, max_ids, request.subject()[0], pairs=seconds is not None, nbest=request.nbest or 1
        )
    if "nbest" in needs:
        return segmentations.encode(loaded, request, max_ids, writer)
    sampling = _fitting(request, "words" if has_words else "texts")
    if "parts" not in request.model_fields_set and writer is not response_binary.write:
        parts = _parts_of(request)
    if seconds is not None or has_words or "sequences" in needs or request.stride is not None:
        side = request.truncation_side or tokenizer.settings.truncation_side
        pairs = encode_pairs(
            loaded,
            request,
            threads,
            max_length=request.max_length,
            truncation=request.truncation,
            truncation_side=side,
            stride=request.stride,
            most_ids=max_ids,
            unit="char" if "spans" in needs else None,
            word_ids="words" in needs,
            word_labels=labels if labels is None or not is_one("word_labels", labels) else [labels],
        )
        of_pairs = [PairSource(tokenizer, pair, side) for pair in pairs]
        # A text may have several rows.
        is_alone = request.stride is None and not request.shares_text() and is_one(*request.subject())
        shape_of = "" if is_alone else texts
        return Encoded([pair.ids for pair in pairs], of_pairs, shape_of, parts)
    if "spans" in needs:
        placed = [offsets_of(loaded, request, index, "char") for index in range(len(texts))]
        rows, sources = [each.ids for each in placed], [TextSource(tokenizer, each.spans) for each in placed]
    else:
        rows = encode_rows(tokenizer, request, threads, sampling)
        sources = [TextSource(tokenizer)] * len(rows)
    config = tokenizer.config
    frame = (len(config.prefix_ids), len(config.suffix_ids)) if request.add_special_tokens else (0, 0)
    return Encoded(rows, sources, request.text, parts, frame)


def _chats(state: ServerState, loaded: ServedTokenizer, request: EncodeRequest, writer: Writer) -> Encoded:
    settings = state.settings
    _fitting(request, "chats")
    if request.begins_with_ids():
        return continued_chats.encode(loaded, request, settings, writer)
    unasked = next((name for name in ("train_on", "train_reasoning") if name in request.model_fields_set), None)
    if unasked is not None and "labels" not in request.parts:
        raise ServiceError("invalid_option", f"{unasked} is about labels; add labels to return", unasked)
    stable = partial(continued_chats.stable, loaded, request, settings)
    encoded = []
    for chat in chats.encode(loaded, request, settings):
        encoded.append(chat)
        report_bytes(chats.encoded_size(chat))
    sources = [ChatSource(loaded.tokenizer, chat, request, stable) for chat in encoded]
    rendered = [chat.rendered for chat in encoded]
    more, template = chats.unused(request, rendered), rendered[0].template
    rows = [chat.ids for chat in encoded]
    return Encoded(rows, sources, chats.shape(request), request.parts, more=more, template=template)


def _check_words(request: EncodeRequest) -> None:
    """Refuse what does not go with words, and labels that are not those of words."""
    words, labels = request.words, request.word_labels
    beside = "text" if "text" in request.model_fields_set else "messages" if request.messages is not None else None
    if words is not None and beside is not None:
        raise ServiceError("invalid_option", f"send {beside} or words, not both", "words")
    if words is not None and request.text_pair is not None:
        raise ServiceError("invalid_option", "words have no second text; send text with text_pair", "text_pair")
    if labels is None:
        return
    if words is None:
        raise ServiceError("invalid_option", "these are labels of words; send words, or leave them out", "word_labels")
    if is_one("words", words) is not is_one("word_labels", labels):
        wanted = "one list of labels" if is_one("words", words) else "a list of lists of labels"
        raise ServiceError("invalid_type", f"this must be {wanted}, as words is", "word_labels")


def _parts_of(request: EncodeRequest) -> tuple[PartName, ...]:
    """Return what an answer holds that is asked for no parts: what goes with the request beside the plain ones."""
    is_pair = request.text_pair is not None
    more: dict[PartName, bool] = {
        "type_ids": is_pair,
        "sequence_ids": is_pair,
        "word_ids": request.words is not None,
        "labels": request.word_labels is not None,
        "overflow_of": request.stride is not None,
    }
    return (*PLAIN, *(name for name, is_wanted in more.items() if is_wanted))


def _fitting(request: EncodeRequest, subject: Subject) -> SamplingOptions:
    """Refuse parts and options that do not go with a subject, and return how its segmentations are drawn."""
    given = {name: value for name in SamplingOptions.__annotations__ if (value := getattr(request, name)) is not None}
    if given:
        _require_drawable(request, next(iter(given)))
    other = next((name for name in request.parts if subject not in PARTS[name].of), None)
    if other is not None:
        of = "texts; send text" if "texts" in PARTS[other].of else "chats; send messages"
        raise ServiceError("invalid_option", f"{other} is a part of {of}, or leave it out", "return")
    if request.stride is not None and (given or subject == "chats"):
        raise ServiceError("invalid_option", "stride goes with texts that are neither chats nor drawn", "stride")
    if request.truncation == "only_second" and request.text_pair is None:
        raise ServiceError("invalid_option", 'truncation "only_second" needs a second text, text_pair', "truncation")
    return cast("SamplingOptions", given)


def _require_drawable(request: EncodeRequest, option: str) -> None:
    if request.messages is not None or request.text_pair is not None or request.words is not None:
        detail = f"{option} goes with single texts, not with chats, pairs and words"
        raise ServiceError("invalid_option", detail, option)
    needy = next((name for name in request.parts if PARTS[name].needs), None)
    if needy is not None:
        detail = f"{needy} is a part of what is not drawn at random, or leave it out"
        raise ServiceError("invalid_option", detail, "return")
    for at, text in enumerate(texts_of(request)):
        if len(text) > MAX_DRAWN:
            detail = f"a text of at most {MAX_DRAWN} characters is drawn, not of {len(text)}; cut it into documents"
            raise ServiceError("invalid_option", detail, "text" if isinstance(request.text, str) else f"text[{at}]")
