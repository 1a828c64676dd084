"""``POST /parse``: what a model wrote, back to messages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from fastapi import FastAPI

from service.errors import ServiceError, core_errors_at, from_core
from service.http.response_json import Answer, report_bytes
from service.registry.served import ServedTokenizer
from service.routes import chats
from service.routes.json_route import post
from service.schemas.parsing import Output, ParseAnswer, ParseRequest, described, weight
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

MAX_PARTS = 1 << 18
"""Of all outputs: to tell of so many takes some seconds."""

_FIELDS = 4
"""Fields of a response template that a text is searched for at once; more take as much longer."""

_ID_BYTES = 64
"""The bytes that an id takes until the places of parts are found among the ids."""


def mount(app: FastAPI, state: ServerState) -> None:
    """Declare the route."""
    post(app, state, "/parse", parse, ParseRequest, ParseAnswer)


def parse(state: ServerState, body: ParseRequest) -> Answer:
    """Read the messages that a model wrote, and say where each part stands and whether the message renders back."""
    loaded = state.registry.get(body.tokenizer)
    total = sum(len(each.ids or ()) for each in body.outputs)
    parsers = _Parsers(loaded, body, state.settings)
    parsers.refuse_much(body.outputs, total)
    found, parts = [], 0
    for at, output in enumerate(body.outputs):
        report_bytes(_ID_BYTES * len(output.ids or ()))
        parsed = parsers.parse(output, f"outputs[{at}]")
        parts += len(parsed.parts)
        if parts > MAX_PARTS:
            detail = f"there are more than {MAX_PARTS} parts; send fewer outputs in one request"
            raise ServiceError("too_many_items", detail, "outputs")
        found.append(described(parsed))
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
        # An expression that does not compile is an option like others here.
        refused = from_core(error, field)
        raise ServiceError("invalid_option", refused.detail, refused.path) from error
    if template is None:
        raise ServiceError("template_missing", "this tokenizer has no response template; send one", field)
    return template


class _Parsers:
    """Parses the outputs of one request; whatever is rendered shares one budget."""

    def __init__(self, loaded: ServedTokenizer, body: ParseRequest, settings: Settings) -> None:
        self._tokenizer, self._tools, self._prompt = loaded.tokenizer, body.tools, body.prompt or ""
        self._most = settings.max_ids
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

    def refuse_much(self, outputs: Sequence[Output], ids: int) -> None:
        """Refuse more than this server takes: a text counts as its fourth, prompt and tools a little for each output.

        All of it counts several times if the response template has many fields.

        Errors:
            ``too_many_ids``
        """
        letters = [len(each.text or "") for each in outputs]
        if max(letters, default=0) > self._most:
            raise ServiceError("too_many_ids", f"an output has more than {self._most} characters", "outputs")
        times = max(1, len(self._template.spec["fields"]) // _FIELDS)
        if times * (ids + sum(letters) // 4) + len(outputs) * weight(self._prompt, self._tools) > self._most:
            detail = f"there are more than {self._most} ids, or as much text; send fewer outputs in one request"
            raise ServiceError("too_many_ids", detail, "outputs")

    def parse(self, output: Output, path: str) -> ParsedChat:
        if (output.ids is None) is (output.text is None):
            raise ServiceError("missing_field", "an output has ids or a text", f"{path}.ids")
        with core_errors_at(f"{path}.{'text' if output.ids is None else 'ids'}"):
            parser = ChatParser(
                self._template,
                self._prompt,
                self._tokenizer.stream_decoder,
                tools=self._tools,
                render=self._render,
                finish_reason=output.finish_reason,
            )
            return parser.parse(output.text if output.ids is None else np.array(output.ids, np.uint32))
