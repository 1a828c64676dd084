"""Chats to text and ids: what a caller writes into a message never becomes a control token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import orjson

from service.answers import Answer, Blocks, write
from service.encoding import IGNORED_LABEL, PARTS, Ids, refuse_much_padding
from service.errors import ServiceError, from_core
from service.registry import Loaded
from service.schemas import ChatOptions, CountRequest, EncodeRequest, RenderRequest
from tokenizer_core import EncodedChat, RenderedChat, Row, TokdError, Tokenizer, shape_rows

Chat = Sequence[Mapping[str, Any]]
Policy = Literal["text", "reject"]


def render(loaded: Loaded, request: RenderRequest) -> Answer:
    """Answer ``/render``."""
    try:
        rendered: RenderedChat = loaded.tokenizer.render_chat(request.messages, **options(request))
    except TokdError as error:
        raise from_core(error, "messages") from error
    blocks = Blocks()
    blocks.add(_head(loaded) + b'"text":')
    blocks.add(orjson.dumps(rendered.text))
    blocks.add(b',"spans":')
    blocks.add_json([span._asdict() for span in rendered.spans])
    blocks.add(b"}")
    return Answer(blocks.finish(), 0, loaded.hash)


def encode(loaded: Loaded, request: EncodeRequest, *, max_ids: int) -> Answer:
    """Answer ``/encode`` for chats; ``max_ids`` is what padding may bring the request to."""
    tokenizer = loaded.tokenizer
    chats = _encoded(loaded, request)
    rows: list[Ids] = [chat.ids for chat in chats]
    fields: dict[str, list[Any]] = {}
    try:
        refuse_much_padding(rows, request, max_ids)
        shaped = shape_rows(
            rows,
            max_length=request.max_length,
            truncation_side=request.truncation_side or tokenizer.settings.truncation_side,
            padding=request.padding,
            padding_side=request.padding_side or tokenizer.settings.padding_side,
            pad_to_multiple_of=request.pad_to_multiple_of,
            pad_id=tokenizer.pad_id,
            prefix=0,
            suffix=0,
        )
        for part in dict.fromkeys(request.parts):
            fields[part] = [
                _part(part, tokenizer, row, chat, request.train_on) for row, chat in zip(shaped, chats, strict=True)
            ]
    except TokdError as error:
        raise from_core(error) from error
    return write(loaded, _shape(request), fields, sum(row.count for row in shaped), head=_head(loaded))


def count(loaded: Loaded, request: CountRequest) -> Answer:
    """Answer ``/count`` for chats."""
    counts = [len(chat.ids) for chat in _encoded(loaded, request)]
    return write(loaded, _shape(request), {"count": counts}, sum(counts), head=_head(loaded))


def options(request: ChatOptions) -> dict[str, Any]:
    """Return the options of a request as the tokenizer takes them."""
    return {
        "tools": request.tools,
        "documents": request.documents,
        "add_generation_prompt": request.add_generation_prompt,
        "continue_final_message": request.continue_final_message,
        "template_args": request.template_args,
    }


def encode_one(loaded: Loaded, chat: Chat, path: str, policy: Policy = "text", **rendering: Any) -> EncodedChat:
    """Encode one chat; ``path`` is the field that it stands in."""
    try:
        return loaded.tokenizer.encode_chat(chat, special_tokens=policy, **rendering)
    except TokdError as error:
        field = error.place.get("field")
        if isinstance(field, str) and field.startswith("messages"):
            error.place["field"] = path + field.removeprefix("messages")
        raise from_core(error, path) from error


def _encoded(loaded: Loaded, request: EncodeRequest | CountRequest) -> list[EncodedChat]:
    if request.model_fields_set & {"text"}:
        raise ServiceError("invalid_option", "send text or messages, not both", "messages")
    if "add_special_tokens" in request.model_fields_set and request.add_special_tokens:
        raise ServiceError(
            "invalid_option",
            "a template writes the special tokens of a chat; leave add_special_tokens out",
            "add_special_tokens",
        )
    policy: Policy = "text"
    if "special_tokens" in request.model_fields_set:
        if request.special_tokens == "parse":
            raise ServiceError(
                "invalid_option",
                'a chat\'s fields are text; render the chat and send it as text with "parse" if they may hold control '
                "tokens",
                "special_tokens",
            )
        policy = request.special_tokens
    chats: Any = request.messages
    rendering = options(request)
    if _is_one(request):
        return [encode_one(loaded, chats, "messages", policy, **rendering)]
    return [encode_one(loaded, chat, f"messages[{at}]", policy, **rendering) for at, chat in enumerate(chats)]


def _is_one(request: EncodeRequest | CountRequest) -> bool:
    """Tell whether there is one chat; an empty list is a chat without messages, which is refused."""
    chats: Any = request.messages
    return not chats or isinstance(chats[0], dict)


def _shape(request: EncodeRequest | CountRequest) -> str | list[str]:
    return "" if _is_one(request) else []


def _head(loaded: Loaded) -> bytes:
    return loaded.head + b'"template":%b,' % orjson.dumps(loaded.tokenizer.template_hash)


def _part(part: str, tokenizer: Tokenizer, row: Row, chat: EncodedChat, train_on: str | list[str]) -> Any:
    """Make one field of a shaped chat."""
    match part:
        case "spans":
            return row.carry(chat.spans)
        case "special_tokens_mask":
            return row.carry(chat.control.astype(np.uint8), 1)
        case "labels":
            return row.carry(chat.labels(train_on=train_on), IGNORED_LABEL)
        case "assistant_mask":
            return row.carry(chat.assistant_mask)
        case "message_index":
            return row.carry(chat.message_index, -1)
        case "reserved_literals":
            return [{"start": at.start, "end": at.end, "literal": at.literal} for at in chat.reserved_literals]
        case _:
            return PARTS[part](tokenizer, row)
