"""``POST /v1/responses/input_tokens`` as OpenAI has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from fastapi import FastAPI
from pydantic import BaseModel, Field

from service.errors import ServiceError
from service.http.response_json import Answer
from service.routes.compat.body_objects import (
    Tool,
    Uncountable,
    arguments_of,
    function,
    kind_of,
    objects_of,
    refuse_many_arguments,
    text_of,
    texts_of,
    tool_of,
)
from service.routes.compat.conversation import Conversation, Turn, Variables
from service.routes.compat.counting import SKIPPED, UNCOUNTABLE, Skipped, counted
from service.routes.compat.dialects import status_of
from service.routes.json_route import error_responses, post
from service.schemas.fields import LEFT_TO_RIGHT, MostItems, Object
from service.schemas.requests import Example, RequestBody
from service.state import ServerState

_CODES = {
    "missing_field": "missing_required_parameter",
    "tokenizer_not_found": "model_not_found",
    "unauthorized": "invalid_api_key",
}
"""OpenAI's names for some of our codes; clients look at the last two."""

STATE = ("conversation", "previous_response_id")
"""Fields that stand for what OpenAI keeps."""


class OpenaiRequest(RequestBody):
    """What a response would be made from. Fields that are not named here are ignored."""

    model: str | None = Field(None, description="A model of the settings, or a name, hash or `name@hash`.")
    input: Annotated[str | MostItems[Object] | None, LEFT_TO_RIGHT] = Field(
        None,
        description="A text, or items: messages, function calls and their outputs, reasoning. Others are refused "
        "or skipped.",
    )
    instructions: str | None = Field(None, description="A system message before the input.")
    tools: list[Object] | None = Field(
        None, description="Functions, and namespaces of them; a tool of any other type is not countable."
    )
    tool_choice: Annotated[str | Object | None, LEFT_TO_RIGHT] = Field(
        None, description="Not looked at: templates do not get it."
    )
    reasoning: Object | None = Field(
        None, description="`effort` is the template's variable `reasoning_effort`, and `enable_thinking` if not `none`."
    )
    chat_template_kwargs: Object | None = Field(None, description="Further variables of the template.")
    conversation: Any = Field(None, description="Refused: no conversation is kept here; send it as `input`.")
    previous_response_id: Any = Field(None, description="Refused: no response is kept here; send it as `input`.")

    def renders(self) -> bool:
        """Tell that there is a chat."""
        return True


class OpenaiCountRequest(OpenaiRequest):
    """What a response would be made from. Fields that are not named here are ignored."""

    uncountable: Literal["refuse", "skip"] | None = UNCOUNTABLE

    EXAMPLES: ClassVar[dict[str, Example]] = {
        "a text": Example("what a user says", {"input": "Tell me a joke."}),
        "items": Example(
            "a conversation", {"instructions": "Be brief.", "input": [{"role": "user", "content": "Hello"}]}
        ),
        "an image": Example(
            "refused by its name, never left out of the count",
            {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "data:,"}]}]},
            status=400,
        ),
    }


class OpenaiCountAnswer(BaseModel):
    """The number of ids."""

    object: Literal["response.input_tokens"]
    input_tokens: int
    skipped: list[Skipped] | None = SKIPPED


class OpenaiErrorInfo(BaseModel):
    """What is wrong."""

    message: str
    type: str
    param: str | None
    code: str | None


class OpenaiError(BaseModel):
    """Any error of this route."""

    error: OpenaiErrorInfo


def dialect(problem: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
    """Say a problem as OpenAI does."""
    status = status_of(problem)
    code = problem["code"]
    info = {
        "message": problem["detail"],
        "type": "server_error" if status >= 500 else "invalid_request_error",
        "param": problem["path"],
        "code": _CODES.get(code, code),
    }
    return status, {"error": info}


def openai_input_tokens(state: ServerState, body: OpenaiCountRequest) -> Answer:
    """Count the tokens of a request, as OpenAI's `/v1/responses/input_tokens`."""
    head = b'{"object":"response.input_tokens","input_tokens":%d'
    return counted(state, body, read, head, continues=goes_on(body.input), form="responses")


def read(body: OpenaiRequest, uncountable: Uncountable) -> Conversation:
    """Return the conversation of a request."""
    for name in STATE:
        if getattr(body, name) is not None:
            raise ServiceError("invalid_option", f"nothing is kept here; send {name} as items of input", name)
    conversation = Conversation("parameters", "arguments", uncountable, Variables(body.chat_template_kwargs))
    _add_turns(conversation, body.instructions, body.input)
    conversation.tools = _read_tools(body.tools, uncountable)
    if isinstance(effort := (body.reasoning or {}).get("effort"), str):
        conversation.variables.set_effort(effort, "reasoning.effort")
    return conversation


_TEXTS = {
    "input_text": "text",
    "output_text": "text",
    "text": "text",
    "summary_text": "text",
    "reasoning_text": "text",
    "refusal": "refusal",
}
"""The parts that are text, and the field that has it."""

_ROLES = ("user", "assistant", "system", "developer")
_BEGUN = ("in_progress", "incomplete")


def _add_turns(conversation: Conversation, instructions: str | None, items: str | list[Object] | None) -> None:
    """Add the turns of a request.

    Errors:
        ``invalid_option`` for an item or a part that is not text, by its type; ``missing_field``, ``invalid_type``
    """
    if instructions:
        conversation.add(Turn("system", "instructions", [(instructions, "instructions")]))
    if isinstance(items, str):
        conversation.add(Turn("user", "input", [(items, "input")]))
    else:
        calls = (item for item in items or () if item.get("type") == "function_call")
        refuse_many_arguments((call.get("arguments") for call in calls), "input")
    for at, item in enumerate(items if isinstance(items, list) else ()):
        _add(conversation, item, f"input[{at}]")
    if not conversation.turns:
        raise conversation.uncountable.nothing_left("send input, or instructions", "input")


def goes_on(items: str | list[Object] | None) -> bool:
    """Tell whether the last item is a message of the assistant that is not complete, which the model goes on with."""
    last = items[-1] if isinstance(items, list) and items else {}
    return last.get("type", "message") == "message" and last.get("role") == "assistant" and last.get("status") in _BEGUN


def _read_tools(tools: list[Object] | None, uncountable: Uncountable) -> list[Tool]:
    """Return OpenAI's functions, those of namespaces too: as vLLM names them, with the namespace before."""
    found = []
    for at, tool in enumerate(tools or ()):
        place = f"tools[{at}]"
        kind = kind_of(tool, place)
        if kind == "function":
            found.append(tool_of(function(tool, place), place))
        elif kind == "namespace":
            found += _of_namespace(tool, place, uncountable)
        else:
            uncountable.find("a tool", kind, place)
    return found


def _in_namespace(namespace: str, name: str) -> str:
    """Return what a function of a namespace is called in a template."""
    return f"{namespace}__{name}"


def _of_namespace(namespace: Object, place: str, uncountable: Uncountable) -> list[Tool]:
    found, prefix = [], text_of(namespace, "name", place)
    for at, tool in enumerate(objects_of(namespace.get("tools"), f"{place}.tools")):
        here = f"{place}.tools[{at}]"
        kind = kind_of(tool, here)
        if kind == "function":
            name = _in_namespace(prefix, text_of(tool, "name", here))
            found.append(tool_of(function(tool, here, name=name), here))
        else:
            uncountable.find("a tool", kind, here)
    return found


def _add(conversation: Conversation, item: Mapping[str, Any], place: str) -> None:
    kind = kind_of(item, place, "message")
    if kind == "message":
        _add_message(conversation, item, place)
    elif kind == "function_call":
        name = text_of(item, "name", place)
        arguments = arguments_of(text_of(item, "arguments", place), f"{place}.arguments")
        if item.get("namespace") is not None:
            name = _in_namespace(text_of(item, "namespace", place), name)
        given = arguments if isinstance(arguments, dict) else {}
        _assistant(conversation, place).call(text_of(item, "call_id", place), name, given, place)
    elif kind == "function_call_output":
        id = text_of(item, "call_id", place)
        texts = texts_of(item.get("output"), f"{place}.output", _TEXTS, "a part", conversation.uncountable)
        conversation.add(Turn("tool", place, [(text, place) for text, _ in texts], answers=id))
    elif kind == "reasoning":
        _add_reasoning(conversation, item, place)
    else:
        conversation.uncountable.find("an item", kind, place)


def _add_message(conversation: Conversation, item: Mapping[str, Any], place: str) -> None:
    role = text_of(item, "role", place)
    if role not in _ROLES:
        raise ServiceError("invalid_value", f"a role is one of {', '.join(_ROLES)}", f"{place}.role")
    content = item.get("content")
    texts = texts_of(content, f"{place}.content", _TEXTS, "a part", conversation.uncountable)
    if isinstance(content, str):
        texts = [(content, place)]
    turn = _assistant(conversation, place) if role == "assistant" else None
    if turn is None or turn.texts:
        turn = conversation.add(Turn(role, place))
    turn.texts += texts


def _add_reasoning(conversation: Conversation, item: Mapping[str, Any], place: str) -> None:
    """Add reasoning: its text if it is there, else its summary; what is only there encrypted cannot be counted."""
    name = "content" if item.get("content") else "summary"
    parts = item.get(name)
    if parts:
        texts = texts_of(parts, f"{place}.{name}", _TEXTS, "a part", conversation.uncountable)
        turn = _assistant(conversation, place)
        if turn.thoughts:
            turn = conversation.add(Turn("assistant", place))
        turn.thoughts.append(("\n".join(text for text, _ in texts), place))
    elif item.get("encrypted_content") is not None:
        error = ServiceError(
            "invalid_option",
            "encrypted reasoning cannot be counted; send its content, or leave the item out",
            f"{place}.encrypted_content",
        )
        conversation.uncountable.unless_skipped("encrypted_content", place, error)


def _assistant(conversation: Conversation, place: str) -> Turn:
    """Return the assistant's turn that an item belongs to: what the assistant does in a row is one."""
    if conversation.turns and conversation.turns[-1].role == "assistant":
        return conversation.turns[-1]
    return conversation.add(Turn("assistant", place))


def mount(app: FastAPI, state: ServerState) -> None:
    """Declare the route."""
    said: Any = {"dialect": dialect, "responses": error_responses(model=OpenaiError)}
    post(app, state, "/v1/responses/input_tokens", openai_input_tokens, OpenaiCountRequest, OpenaiCountAnswer, **said)
