"""A chat that begins with ids of an engine: ``prefix_ids`` and ``new_from`` of ``POST /encode``."""

from __future__ import annotations

from typing import Any

from service.errors import ServiceError
from service.http.response_json import Answer, Rows, report_bytes, write
from service.registry.served import ServedTokenizer
from service.routes import chats
from service.routes.hashed_blocks import hashed
from service.schemas.requests import EncodeRequest
from service.settings import Settings
from tokenizer_core import continue_chat, prefix_stable

_PARTS = ("ids", "count", "assistant_mask")


def is_asked(request: EncodeRequest) -> bool:
    """Tell whether a request begins with ids, or says where they end or what becomes of them."""
    fields = request.prefix_ids, request.new_from, request.rewritten
    return fields != (None, None, "refuse")


def encode(loaded: ServedTokenizer, request: EncodeRequest, settings: Settings) -> Answer:
    """Answer with the prefix and what comes behind it.

    Errors:
        ``invalid_option``, ``missing_field``, ``unknown_token_id``, ``history_rewritten``, and those of chats
    """
    prefix, new_from = request.prefix_ids, request.new_from
    if prefix is None or new_from is None:
        missing = "prefix_ids" if prefix is None else "new_from"
        raise ServiceError("missing_field", "prefix_ids and new_from go together", missing)
    if request.max_length is not None or request.padding != "none" or request.pad_to_multiple_of is not None:
        raise ServiceError("invalid_option", "a prefix is neither cut nor padded; leave that out", "prefix_ids")
    alien = next((part for part in request.parts if part not in _PARTS), None)
    if alien is not None:
        raise ServiceError("invalid_option", f"{alien} is not known of a prefix; ask for {', '.join(_PARTS)}", "return")
    chat, path = chats.only(request)
    with chats.placed(path, ids="prefix_ids"):
        found = continue_chat(
            loaded.tokenizer,
            chat,
            prefix,
            new_from=new_from,
            rewritten=request.rewritten,
            special_tokens=chats.policy(request, settings),
            **chats.options(request, settings),
        )
        if request.unused == "refuse":
            found.chat.rendered.require_all_used()
    report_bytes(chats.encoded_size(found.chat))
    parts: dict[str, Any] = {"ids": found.ids, "count": len(found.ids), "assistant_mask": found.assistant_mask}
    fields: Rows = {
        **{part: [parts[part]] for part in request.parts},
        "appended": [found.appended],
        "inserted": [list(found.inserted)],
        "retokenized_equal": [found.retokenized_equal],
        **chats.unused(request, [found.chat.rendered]),
        **hashed(request.block_hashes, [found.ids]),
    }
    return write(loaded, "", fields, len(found.ids), template=found.chat.rendered.template)


def stable(loaded: ServedTokenizer, request: EncodeRequest, settings: Settings) -> list[bool]:
    """Tell of each step of a chat whether it extends the one before."""
    chat, path = chats.only(request)
    with chats.placed(path):
        return prefix_stable(
            loaded.tokenizer,
            chat,
            special_tokens=chats.policy(request, settings),
            **chats.options(request, settings),
        )
