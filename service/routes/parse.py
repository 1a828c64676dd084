"""``POST /parse``: what a model wrote, back to messages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from fastapi import FastAPI

from service.errors import ServiceError, from_core
from service.http.response_json import Answer, report_bytes
from service.registry.served import ServedTokenizer
from service.routes import chats
from service.routes.json_route import post
from service.schemas.parsing import Output, ParseAnswer, ParseRequest, described
from service.settings import Settings
from service.state import ServerState
from tokenizer_core import (
    ChatParser,
    ContentFormat,
    ParsedChat,
    RenderedChat,
    RenderingOptions,
    ResponseTemplate,
    TokdError,
)

MAX_TEMPLATE_BYTES = 32 << 10
"""Of a response template that a caller sends: compiled ones are kept."""

_ID_BYTES = 64
"""The bytes that an id takes until the places of parts are found among the ids."""


def mount(app: FastAPI, state: ServerState) -> None:
    """Declare the route."""
    post(app, state, "/parse", parse, state.requests.to_parse, ParseAnswer)


def parse(state: ServerState, body: ParseRequest) -> Answer:
    """Read the messages that a model wrote, and say where each part stands and whether the message renders back."""
    loaded, max_ids = state.registry.get(body.tokenizer), state.settings.max_ids
    total = sum(len(each.ids or ()) for each in body.outputs)
    if total > max_ids:
        raise ServiceError("too_many_ids", f"there are more than {max_ids} ids; send fewer in one request", "outputs")
    parsers = _Parsers(loaded, body, state.settings)
    found = []
    for at, output in enumerate(body.outputs):
        report_bytes(_ID_BYTES * len(output.ids or ()))
        found.append(described(parsers.parse(output, f"outputs[{at}]")))
        report_bytes(len(found[-1]))
    written = b'%b"outputs":[%b]}' % (loaded.head, b",".join(found))
    return Answer([written], total, loaded.hash, headers=loaded.headers)


def _template(loaded: ServedTokenizer, body: ParseRequest) -> ResponseTemplate:
    given, field = body.response_template, "response_template"
    if given is not None and len(json.dumps(given)) > MAX_TEMPLATE_BYTES:
        raise ServiceError("invalid_option", f"it has more than {MAX_TEMPLATE_BYTES} bytes", field)
    try:
        template = loaded.tokenizer.response_template if given is None else ResponseTemplate.of(given)
    except TokdError as error:
        raise from_core(error, field) from error
    if template is None:
        raise ServiceError("template_missing", "this tokenizer has no response template; send one", field)
    return template


class _Parsers:
    """Parses the outputs of one request; whatever is rendered shares one budget."""

    def __init__(self, loaded: ServedTokenizer, body: ParseRequest, settings: Settings) -> None:
        self._tokenizer, self._tools, self._prompt = loaded.tokenizer, body.tools, body.prompt or ""
        self._template = _template(loaded, body)
        self._render = None
        if body.messages is None:
            return
        history, continues = body.messages, body.continue_final_message
        options: RenderingOptions = {
            "tools": body.tools,
            "documents": body.documents,
            "template_args": body.template_args,
            "template": body.template,
            "content_format": cast(ContentFormat, settings.content_format),
        }
        if body.prompt is None:
            begun: Any = {"continue_final_message": continues, "add_generation_prompt": not continues}
            ((rendered, _),) = chats.render(loaded, [(history, "messages")], **options, **begun)
            report_bytes(chats.size(rendered))
            self._prompt = rendered.text
        renderer, before = loaded.tokenizer.chat_renderer(**options), history[:-1] if continues else history

        def render(message: Mapping[str, Any]) -> RenderedChat:
            return renderer.render([*before, message])

        self._render = render

    def parse(self, output: Output, path: str) -> ParsedChat:
        if (output.ids is None) is (output.text is None):
            raise ServiceError("missing_field", "an output has ids or a text", f"{path}.ids")
        try:
            parser = ChatParser(
                self._template,
                self._prompt,
                self._tokenizer.stream_decoder,
                tools=self._tools,
                render=self._render,
                finish_reason=output.finish_reason,
            )
            parser.feed(output.text if output.ids is None else np.array(output.ids, np.uint32))
            return parser.finish()
        except TokdError as error:
            raise from_core(error, f"{path}.{'text' if output.ids is None else 'ids'}") from error
