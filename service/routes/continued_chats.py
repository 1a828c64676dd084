"""A chat that begins with ids of an engine: ``prefix_ids`` and ``new_from`` of ``POST /encode``."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from service.errors import ServiceError
from service.http.response_json import Writer, report_bytes, write
from service.registry.served import ServedTokenizer
from service.routes import chats
from service.routes.rows import Encoded
from service.schemas.parts import PARTS
from service.schemas.requests import EncodeRequest
from service.settings import Settings
from tokenizer_core import continue_chat, prefix_stable


def encode(loaded: ServedTokenizer, request: EncodeRequest, settings: Settings, writer: Writer) -> Encoded:
    """Append to the prefix what comes behind it.

    Errors:
        ``invalid_option``, ``missing_field``, ``unknown_token_id``, ``history_rewritten``, and those of chats
    """
    if writer is not write:
        raise ServiceError("invalid_option", "a chat with prefix_ids is answered as JSON", "prefix_ids")
    prefix, new_from = request.prefix_ids, request.new_from
    if prefix is None or new_from is None:
        missing = "prefix_ids" if prefix is None else "new_from"
        raise ServiceError("missing_field", "prefix_ids and new_from go together", missing)
    if request.is_shaped():
        raise ServiceError("invalid_option", "a prefix is neither cut nor padded; leave that out", "prefix_ids")
    known = [name for name, part in PARTS.items() if "prefixes" in part.of]
    alien = next((name for name in request.parts if name not in known), None)
    if alien is not None:
        raise ServiceError("invalid_option", f"{alien} is not known of a prefix; ask for {', '.join(known)}", "return")
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
        rendered = found.chat.rendered
        if request.unused == "refuse":
            rendered.require_all_used()
    report_bytes(chats.encoded_size(found.chat))
    more: dict[str, list[Any]] = {
        "appended": [found.appended],
        "inserted": [list(found.inserted)],
        "retokenized_equal": [found.retokenized_equal],
        **chats.unused(request, [rendered]),
    }
    source = SimpleNamespace(assistant_mask=lambda _: found.assistant_mask)
    return Encoded([found.ids], [source], "", request.parts, frame=None, more=more, template=rendered.template)


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
