"""The message of an output: reasoning, content and calls, in vLLM's names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any

from service.errors import ServiceError, core_errors_at
from service.registry.engines import Parsing
from service.registry.served import ServedTokenizer
from service.routes.compat import prompts, vllm, vllm_messages
from service.routes.compat.conversation import Variables
from service.routes.compat.derender_models import AnsweredChatRequest
from service.schemas.fields import Object
from service.schemas.parsing import weight
from service.state import ServerState
from tokenizer_core import ChatParser, ParsedChat

_REASONING = ("reasoning_content", "reasoning", "thinking")
"""Fields of messages that hold reasoning."""

_NULLS = dict.fromkeys(("refusal", "annotations", "audio", "function_call"))


def plain(text: str) -> Object:
    """Return the message of an output that is not parsed."""
    return {"role": "assistant", "content": text, **_NULLS, "reasoning": None}


class Messages:
    """Reads the messages of one request's outputs.

    Args:
        request_id: of which the ids of calls are made: whole or as a stream, a call has the same.

    Attributes:
        weight: how many ids reading an output counts as, beside its own.
    """

    def __init__(
        self, loaded: ServedTokenizer, sent: AnsweredChatRequest, form: Parsing, prompt: str, request_id: str
    ) -> None:
        self._loaded, self._sent, self._form, self._prompt = loaded, sent, form, prompt
        self._request_id = request_id
        with within_request():
            self._tools = vllm_messages.read_tools(sent.tools) or None
        self._is_named = isinstance(sent.tool_choice, dict)
        self.weight = weight(prompt, self._tools)

    def whole(self, text: str, index: int, finish_reason: str | None) -> tuple[Object, str | None]:
        """Return the message of an output, and why it ended."""
        parser = self._parser(finish_reason)
        parsed = parser.parse(text)
        content, reasoning = (self._field(parser, parsed, names) for names in (("content",), _REASONING))
        calls = self._calls(parsed, index)
        if not content:
            content = "" if self._is_named or self._sent.tool_choice == "required" else None
        message = {"role": "assistant", "content": content, **_NULLS}
        if calls:
            message["tool_calls"] = calls
            if self._form == "message" and finish_reason == "stop":
                finish_reason = "tool_calls"
        return message | {"reasoning": None if self._sent.include_reasoning is False else reasoning}, finish_reason

    def delta(self, past: str, text: str, index: int, finish_reason: str | None) -> tuple[Object, str | None]:
        """Return the next part of a message behind the output so far; a call comes when it has ended."""
        parser = self._parser(finish_reason)
        before = _Events([*parser.initial_events, *parser.feed(past)])
        events = parser.feed(text)
        parsed = parser.finish()
        made = _Events(events if finish_reason is None else [*events, *parser.final_events])
        calls = self._calls(parsed, index)[before.calls : before.calls + made.calls]
        calls = [{**call, "index": before.calls + at} for at, call in enumerate(calls)]
        if self._sent.parallel_tool_calls is False:
            calls = [call for call in calls if call["index"] == 0]
        reasoning = None if self._sent.include_reasoning is False else made.reasoning
        if finish_reason is not None and before.calls + made.calls and not self._is_named:
            finish_reason = "tool_calls"
        delta = {"content": made.content or None, "reasoning": reasoning or None}
        return delta | ({"tool_calls": calls} if calls else {}), finish_reason

    def _parser(self, finish_reason: str | None) -> ChatParser:
        with core_errors_at("chat_request.tools"):
            return self._loaded.tokenizer.chat_parser(
                prompt=self._prompt, tools=self._tools, finish_reason=finish_reason
            )

    def _field(self, parser: ChatParser, parsed: ParsedChat, names: Sequence[str]) -> str | None:
        """Return a text of a message, without what the prompt wrote of it."""
        name = next((name for name in names if parsed.message.get(name)), None)
        if name is None:
            return None
        if self._form == "vllm":
            return _with_white_space(parsed, name)
        begun = _Events(parser.initial_events)
        return str(parsed.message[name]).removeprefix(begun.content if name == "content" else begun.reasoning)

    def _calls(self, parsed: ParsedChat, index: int) -> list[Object]:
        calls = []
        for at, (call, written) in enumerate(zip(parsed.message.get("tool_calls", ()), parsed.arguments, strict=True)):
            place = f"{self._request_id} {index} {at}".encode()
            id = f"chatcmpl-tool-{blake2b(place, digest_size=8).hexdigest()}"
            calls.append({"id": id, "type": "function", "function": _function(call, written)})
        return calls


class _Events:
    """The text and the number of calls that events tell."""

    def __init__(self, events: Iterable[Mapping[str, Any]]) -> None:
        self.content = self.reasoning = ""
        self.calls = 0
        for event in events:
            field, kind = event["field"], event["type"]
            if kind == "region_close" and field == "tool_calls":
                self.calls += 1
            elif kind == "region_chunk" and field == "content":
                self.content += event["text"]
            elif kind == "region_chunk" and field in _REASONING:
                self.reasoning += event["text"]


def _function(call: Any, written: str) -> Object:
    """Return the name and the arguments of a call: JSON as the model wrote it if that is an object, else as read.

    A model may write a call without either; then the text is all that there is.
    """
    function = call.get("function") if isinstance(call, dict) else None
    named = function if isinstance(function, dict) else {}
    name, arguments = named.get("name"), named.get("arguments", written)
    try:
        is_object = isinstance(json.loads(written), dict)
    except (ValueError, RecursionError):
        is_object = False
    if not is_object and not isinstance(arguments, str):
        written = json.dumps(arguments, ensure_ascii=False)
    return {"name": name if isinstance(name, str) else "", "arguments": written}


def _with_white_space(parsed: ParsedChat, name: str) -> str:
    """Return a text of a message with the white space that stands around it in the output."""
    parts = [part for part in parsed.parts if part.field == name]
    before, behind = parsed.text[: parts[0].start], parsed.text[parts[-1].end :]
    inner = "".join(parsed.text[part.start : part.end] for part in parts)
    return before[len(before.rstrip()) :] + inner + behind[: len(behind) - len(behind.lstrip())]


@contextmanager
def within_request() -> Iterator[None]:
    """Place errors in the request that was rendered."""
    try:
        yield
    except ServiceError as error:
        error.path = f"chat_request.{error.path}" if error.path else "chat_request"
        raise


def messages_of(
    state: ServerState,
    loaded: ServedTokenizer,
    model: str | None,
    sent: AnsweredChatRequest | None,
    prompt: Sequence[int] | None,
    request_id: str | None,
) -> Messages | None:
    """Return what reads the messages of outputs; ``None`` if these are texts, since nobody says what was rendered.

    Args:
        prompt: its ids; without them the request is rendered again.

    Errors:
        ``unknown_token_id``, and those of chats
    """
    form = state.engines.parsing(model, loaded.name)
    if sent is None or form == "text":
        return None
    with core_errors_at("model"):
        if loaded.tokenizer.response_template is None:
            return None
    if prompt is None:
        variables = Variables(sent.chat_template_kwargs, sent.reasoning_effort)
        with within_request():
            found = vllm.encode_chat(
                state, loaded, sent, sent.messages, variables, form="render", documents=sent.documents
            )
        text = found.rendered.text
    else:
        text = prompts.decode(loaded, prompt, skip_special_tokens=False, path="prompt_token_ids")
    return Messages(loaded, sent, form, text, request_id or "")
