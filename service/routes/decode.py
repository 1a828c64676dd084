"""``POST /decode``: ids to text, whole or as a stream whose state the caller carries."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
import orjson
from fastapi import FastAPI
from pydantic import Field

from service.errors import ServiceError, core_errors_at
from service.http.fast_path import PlainIds
from service.http.response_json import Answer
from service.registry.served import ServedTokenizer
from service.routes.json_route import post
from service.schemas.answers import DecodeAnswer
from service.schemas.fields import LEFT_TO_RIGHT, Id, MostIds, MostItems
from service.schemas.inline import INLINE_ITEMS
from service.schemas.requests import Example, Request
from service.state import ServerState


class DecodeRequest(Request):
    """Ids to turn back into text."""

    ids: Annotated[MostIds[Id] | MostItems[MostIds[Id]], LEFT_TO_RIGHT] = Field(
        description="One list of ids, or a list of lists."
    )
    skip_special_tokens: bool = Field(False, description="Leave the special tokens out.")
    pending: Annotated[str, Field(pattern=r"^([0-9a-fA-F]{2})*$")] | None = Field(
        None,
        description="Decodes a stream without state on the server: send an empty string with the first ids, with all "
        "further ones the `pending` of the answer before. It holds, in hexadecimal, the one to three bytes of a "
        "character that is not complete; of a tokenizer whose decoder works on tokens, all ids so far.",
    )
    final: bool = Field(False, description="With `pending`: these are the last ids; half a character becomes U+FFFD.")

    EXAMPLES: ClassVar[dict[str, Example]] = {
        "one list": Example("ids that every tokenizer has", {"ids": [40, 41, 42]}),
        "a stream": Example("the first ids of a stream", {"ids": [40, 41], "pending": ""}),
        "no id": Example("the place of what is not an id", {"ids": [40, "41"]}, status=422),
    }

    def heavy(self) -> bool:
        """Tell whether there are many lists."""
        return len(self.ids) > INLINE_ITEMS and type(self.ids[0]) is list


ID_BYTES = 4


def mount(app: FastAPI, state: ServerState) -> None:
    """Declare the route."""
    plain = PlainIds(state.current.registry, state.settings)
    post(app, state, "/decode", decode, DecodeRequest, DecodeAnswer, plain=plain)


def decode(state: ServerState, request: DecodeRequest) -> Answer:
    """Turn ids back into text. With `pending`, decode a stream: the server keeps nothing between two requests."""
    loaded, max_ids, ids = state.registry.get(request.tokenizer), state.settings.max_ids, request.ids
    nested = bool(ids) and isinstance(ids[0], list)
    if request.pending is not None:
        if nested:
            raise ServiceError("invalid_option", "pending is for one stream; send one list of ids", "pending")
        if loaded.tokenizer.config.decoder:
            return _decode_texts(loaded, request, request.pending, max_ids)
        return _decode_stream(loaded, request, request.pending)
    if request.final:
        raise ServiceError("invalid_option", "final is for a stream; send pending with it", "final")
    rows: Sequence[Any] = ids if nested else [ids]
    total = sum(map(len, rows))
    if total > max_ids:
        raise ServiceError("too_many_ids", f"there are more than {max_ids} ids; send fewer in one request", "ids")
    texts = []
    for index, row in enumerate(rows):
        with core_errors_at(f"ids[{index}]" if nested else "ids"):
            texts.append(loaded.tokenizer.decode(_array(row), skip_special_tokens=request.skip_special_tokens))
    text = orjson.dumps(texts if nested else texts[0])
    return Answer([b'%b"text":%b}' % (loaded.head, text)], total, loaded.hash, headers=loaded.headers)


def _decode_stream(loaded: ServedTokenizer, request: DecodeRequest, pending: str) -> Answer:
    held = bytes.fromhex(pending)
    try:
        incomplete = codecs.utf_8_decode(held, "strict", False)[1] == 0
    except UnicodeDecodeError:
        incomplete = False
    if not incomplete:
        raise ServiceError(
            "invalid_value", "pending is not an unfinished character; send what the answer before gave", "pending"
        )
    ids: Any = request.ids
    with core_errors_at("ids"):
        data = held + loaded.tokenizer.decode_bytes(_array(ids), skip_special_tokens=request.skip_special_tokens)
    # Python would wait for the rest of a surrogate, which is not a character of UTF-8.
    is_surrogate = data[-2:-1] == b"\xed" and b"\xa0" <= data[-1:] <= b"\xbf"
    text, used = codecs.utf_8_decode(data, "replace", request.final or is_surrogate)
    body = b'%b"text":%b,"pending":"%b"}' % (loaded.head, orjson.dumps(text), data[used:].hex().encode("ascii"))
    return Answer([body], len(ids), loaded.hash, headers=loaded.headers)


def _decode_texts(loaded: ServedTokenizer, request: DecodeRequest, pending: str, max_ids: int) -> Answer:
    """Go on with a stream whose text is not the bytes of its ids: the caller carries all ids before."""
    held = bytes.fromhex(pending)
    ids = _array(request.ids)  # type: ignore[arg-type]
    if len(held) % ID_BYTES:
        raise ServiceError("invalid_value", "pending is not what the answer before gave", "pending")
    before = np.frombuffer(held, "<u4").astype(np.uint32)
    if len(before) + len(ids) > max_ids:
        raise ServiceError("too_many_ids", f"the stream has more than {max_ids} ids; begin another one", "ids")
    stream = loaded.tokenizer.stream_decoder(skip_special_tokens=request.skip_special_tokens)
    with core_errors_at("pending"):
        stream.push(before)
    with core_errors_at("ids"):
        text = stream.push(ids) + (stream.finish() if request.final else "")
    after = b"" if request.final else held + ids.astype("<u4").tobytes()
    body = b'%b"text":%b,"pending":"%b"}' % (loaded.head, orjson.dumps(text), after.hex().encode("ascii"))
    return Answer([body], len(ids), loaded.hash, headers=loaded.headers)


def _array(ids: list[int]) -> npt.NDArray[np.uint32]:
    """Make an array of ids: the kernel reads it five times as fast as a list, and without the interpreter's lock."""
    return np.array(ids, np.uint32)
