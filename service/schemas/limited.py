"""The models of requests under the limits of one server."""

from __future__ import annotations

from typing import NamedTuple

from service.schemas.decoding import DecodeRequest
from service.schemas.fields import Id, Object, Span, either, list_of, narrow
from service.schemas.offsets import OffsetsRequest
from service.schemas.packing import PackRequest
from service.schemas.parsing import Output, ParseRequest
from service.schemas.requests import CountRequest, EncodeRequest, RenderRequest


class Requests(NamedTuple):
    """The request models under the limits of one server."""

    to_encode: type[EncodeRequest]
    to_count: type[CountRequest]
    to_offsets: type[OffsetsRequest]
    to_render: type[RenderRequest]
    to_decode: type[DecodeRequest]
    to_pack: type[PackRequest]
    to_parse: type[ParseRequest]


def under_limits(*, max_items: int, max_ids: int) -> Requests:
    """Build the request models of a server, so that its OpenAPI names its own limits."""
    texts = either(str, list_of(str, max_items))
    seconds = either(str, list_of(str, max_items), None)
    one_or_many = (list_of(Object, max_items), list_of(list_of(Object, max_items), max_items))
    chats = either(*one_or_many, None)
    words = either(list_of(str, max_ids), list_of(list_of(str, max_ids), max_items), None)
    labels = either(list_of(int, max_ids), list_of(list_of(int, max_ids), max_items), None)
    ids = either(list_of(Id, max_ids), list_of(list_of(Id, max_ids), max_items))
    spans = either(list_of(Span, max_ids), list_of(list_of(Span, max_ids), max_items), None)
    return Requests(
        to_encode=narrow(
            EncodeRequest,
            text=texts,
            text_pair=seconds,
            words=words,
            word_labels=labels,
            messages=chats,
            prefix_ids=list_of(Id, max_ids) | None,
        ),
        to_count=narrow(CountRequest, text=texts, text_pair=seconds, messages=chats),
        to_offsets=narrow(OffsetsRequest, text=texts, text_pair=seconds, messages=chats, target_spans=spans),
        to_render=narrow(RenderRequest, messages=either(*one_or_many)),
        to_decode=narrow(DecodeRequest, ids=ids),
        to_pack=narrow(PackRequest, examples=list_of(Object, max_items)),
        to_parse=narrow(ParseRequest, outputs=list_of(Output, max_items), messages=list_of(Object, max_items) | None),
    )
