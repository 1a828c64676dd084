"""``POST /offsets``: text or chats to ids and their places, and which of them lie in given spans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np
from fastapi import FastAPI
from pydantic import Field

from service.errors import ServiceError
from service.http.fast_path import PlainTexts
from service.http.response_json import Answer, write
from service.registry.served import ServedTokenizer
from service.routes import chats
from service.routes.json_route import post
from service.routes.texts import (
    Array,
    encode_pairs,
    offsets_of,
    refuse_large_frames,
    require_text,
    seconds_of,
    texts_of,
    token_texts,
)
from service.schemas.answers import OffsetsAnswer
from service.schemas.fields import LEFT_TO_RIGHT, MostIds, MostItems, Span
from service.schemas.parts import Nulls
from service.schemas.requests import Example, TextOrChatRequest
from service.settings import Settings
from service.state import ServerState
from tokenizer_core import EncodedPair, Offsets, Unit, length_in, overlapping


class OffsetsRequest(TextOrChatRequest):
    """Text whose ids are wanted with their places. Of chats, places are in the rendered text, which `/render` gives."""

    unit: Unit = Field(
        "char", description="What spans count: `byte` of UTF-8, `char` (code points) or `utf16` code units."
    )
    trim_offsets: bool = Field(
        False,
        description="Leave white space at both ends of a token out of its span.",
    )
    tokens: bool = Field(False, description="Also return the text of every token.")
    target_spans: Annotated[MostIds[Span] | MostItems[MostIds[Span]] | None, LEFT_TO_RIGHT] = Field(
        None,
        description="Half-open spans in `unit`, one list a text or chat: `mask` is 1 for tokens that overlap one of "
        "them.",
    )

    EXAMPLES: ClassVar[dict[str, Example]] = {
        "one text": Example("a span for every id, in characters", {"text": "Grüße 🙂", "unit": "char", "tokens": True}),
        "a mask": Example("the tokens that overlap `world`", {"text": "Hello, world!", "target_spans": [[7, 12]]}),
        "a chat": Example(
            "places in the rendered text", {"messages": [{"role": "user", "content": "Hello"}], "unit": "byte"}
        ),
        "a span outside the text": Example(
            "refused with its place", {"text": "Hello", "target_spans": [[2, 3], [0, 99]]}, status=422
        ),
    }

    def asks_more(self) -> bool:
        """Tell whether the text of every token is asked for, other spans, or which of them lie in spans."""
        return self.tokens or self.trim_offsets or self.target_spans is not None


def mount(app: FastAPI, state: ServerState) -> None:
    """Declare the route."""
    plain = PlainTexts("offsets", state.current.registry, state.settings, state.limits.threads)
    post(app, state, "/offsets", offsets, OffsetsRequest, OffsetsAnswer, plain=plain)


def offsets(state: ServerState, body: OffsetsRequest) -> Answer:
    """Say where every token stands in the text, and which tokens overlap given spans."""
    loaded = state.registry.get(body.tokenizer)
    settings = state.settings
    return _of_texts(loaded, body, settings.max_ids) if body.messages is None else _of_chats(loaded, body, settings)


def _of_texts(loaded: ServedTokenizer, request: OffsetsRequest, max_ids: int) -> Answer:
    require_text(request)
    texts, seconds = texts_of(request), seconds_of(request)
    if request.add_special_tokens:
        refuse_large_frames(loaded, texts, max_ids, pairs=seconds is not None)
    if seconds is None:
        # Spans outside the texts are refused before any work.
        targets = _targets(request, texts, one=isinstance(request.text, str))
        encoded = [offsets_of(loaded, request, index, request.unit) for index in range(len(texts))]
        return _answer(loaded, request, request.text, encoded, targets)
    if request.target_spans is not None:
        message = "target_spans are of one text; leave text_pair out, or compare spans and sequence_ids yourself"
        raise ServiceError("invalid_option", message, "target_spans")
    pairs = encode_pairs(loaded, request, 1, unit=request.unit)
    if request.trim_offsets:
        pairs = [_trimmed_pair(pair, both, request.unit) for *both, pair in zip(texts, seconds, pairs, strict=True)]
    return _answer(loaded, request, request.text, pairs)


def _trimmed_pair(pair: EncodedPair, texts: Sequence[str], unit: Unit) -> EncodedPair:
    """Leave the white space at both ends of tokens out of the spans of a pair, each of which is in its own text."""
    spans = np.array(pair.spans)
    for number, text in enumerate(texts):
        own = pair.sequence_ids == number
        spans[own] = Offsets(pair.ids[own], spans[own], text, unit).trimmed().spans
    return replace(pair, spans=spans)


def _of_chats(loaded: ServedTokenizer, request: OffsetsRequest, settings: Settings) -> Answer:
    """Answer for chats: spans and targets are places in the rendered text."""
    placed, rendered = zip(*chats.places(loaded, request, request.unit, settings), strict=True)
    shape = chats.shape(request)
    targets = _targets(request, [chat.text for chat in rendered], one=isinstance(shape, str))
    template, unused = rendered[0].template, chats.unused(request, rendered)
    return _answer(loaded, request, shape, placed, targets, template=template, unused=unused)


def _answer(
    loaded: ServedTokenizer,
    request: OffsetsRequest,
    shape: str | list[str],
    encoded: Sequence[Any],
    targets: Sequence[Array] | None = None,
    *,
    template: str | None = None,
    unused: Mapping[str, list[list[str]]] = {},
) -> Answer:
    if request.trim_offsets and request.text_pair is None:
        encoded = [each.trimmed() for each in encoded]
    fields: dict[str, Iterable[Any]] = {name: [getattr(each, name) for each in encoded] for name in ("ids", "spans")}
    if request.text_pair is not None:
        fields["type_ids"] = [pair.type_ids for pair in encoded]
        fields["sequence_ids"] = [Nulls(pair.sequence_ids) for pair in encoded]
    if request.tokens:
        fields["tokens"] = (token_texts(loaded.tokenizer, each.ids) for each in encoded)
    if targets is not None:
        fields["mask"] = (
            overlapping(each.spans, wanted).view(np.uint8) for each, wanted in zip(encoded, targets, strict=True)
        )
    fields |= unused
    return write(loaded, shape, fields, sum(len(each.ids) for each in encoded), template=template)


def _targets(request: OffsetsRequest, texts: Sequence[str], *, one: bool) -> list[Array] | None:
    """Check target spans against the texts; one array of shape (m, 2) a text."""
    given: Any = request.target_spans
    if given is None:
        return None
    if given and (isinstance(given[0][0] if given[0] else [], list) is one):
        wanted = "one list of spans" if one else "one list of spans a text"
        raise ServiceError("invalid_type", f"this must be {wanted}", "target_spans")
    lists = [given] if one else given
    if len(lists) != len(texts):
        raise ServiceError(
            "invalid_value", f"there are {len(texts)} texts and {len(lists)} lists of target spans", "target_spans"
        )
    return [
        _checked_spans(spans, length_in(text, request.unit), "target_spans" if one else f"target_spans[{index}]")
        for index, (spans, text) in enumerate(zip(lists, texts, strict=True))
    ]


def _checked_spans(spans: Any, length: int, path: str) -> Array:
    array = np.array(spans, np.int64).reshape(-1, 2)
    bad = np.flatnonzero((array[:, 0] > array[:, 1]) | (array[:, 1] > length))
    if len(bad):
        raise ServiceError(
            "invalid_value",
            f"a span must have start <= end <= {length}, the length of the text in its unit",
            f"{path}[{bad[0]}]",
        )
    return array
