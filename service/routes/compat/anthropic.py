"""``POST /v1/messages/count_tokens`` as Anthropic has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from fastapi import FastAPI
from pydantic import BaseModel, Field

from service.errors import ServiceError
from service.http.response_json import Answer
from service.routes.compat import anthropic_blocks
from service.routes.compat.body_objects import Uncountable
from service.routes.compat.conversation import Conversation, Variables
from service.routes.compat.counting import SKIPPED, UNCOUNTABLE, Skipped, counted
from service.routes.compat.dialects import status_of
from service.routes.json_route import error_responses, post
from service.schemas.fields import Object
from service.schemas.narrowing import LEFT_TO_RIGHT, list_of, narrow
from service.schemas.requests import Example, RequestBody
from service.state import ServerState

_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
}


class AnthropicRequest(RequestBody):
    """What a message would be answered from. Fields that are not named here are ignored."""

    model: str | None = Field(None, description="A model of the settings, or a name, hash or `name@hash`.")
    messages: list[Object] = Field(
        description="Turns with texts or blocks: text, thinking, tool_use, tool_result. Others are refused or skipped."
    )
    system: Annotated[str | list[Object] | None, LEFT_TO_RIGHT] = Field(
        None, description="The system prompt, as a text or as blocks of text."
    )
    tools: list[Object] | None = Field(None, description="Tools of the caller; those of a server are not countable.")
    tool_choice: Object | None = Field(None, description="Not looked at: templates do not get it.")
    output_config: Object | None = Field(
        None, description="`effort` is the template's variable `reasoning_effort`, and `enable_thinking` if not `none`."
    )
    thinking: Object | None = Field(None, description="If its `type` is `disabled`, the effort is `none`.")
    mcp_servers: Any = Field(None, description="Not countable: their tools are not known here.")
    chat_template_kwargs: Object | None = Field(None, description="Further variables of the template.")

    def renders(self) -> bool:
        """Tell that there is a chat."""
        return True


class AnthropicCountRequest(AnthropicRequest):
    """What a message would be answered from. Fields that are not named here are ignored."""

    uncountable: Literal["refuse", "skip"] | None = UNCOUNTABLE

    EXAMPLES: ClassVar[dict[str, Example]] = {
        "a message": Example(
            "with a system prompt", {"system": "Be brief.", "messages": [{"role": "user", "content": "Hello"}]}
        ),
        "an image": Example(
            "refused by its name, never left out of the count",
            {"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "base64"}}]}]},
            status=400,
        ),
    }


class AnthropicCountAnswer(BaseModel):
    """The number of ids."""

    input_tokens: int
    skipped: list[Skipped] | None = SKIPPED


class AnthropicErrorInfo(BaseModel):
    """What is wrong."""

    type: str
    message: str


class AnthropicError(BaseModel):
    """Any error of this route."""

    type: Literal["error"]
    error: AnthropicErrorInfo


def dialect(problem: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
    """Say a problem as Anthropic does, with the place before the message."""
    status = status_of(problem)
    kind = _TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    place = f"{problem['path']}: " if problem["path"] else ""
    return status, {"type": "error", "error": {"type": kind, "message": place + problem["detail"]}}


def anthropic_count_tokens(state: ServerState, body: AnthropicCountRequest) -> Answer:
    """Count the tokens of a request, as Anthropic's `/v1/messages/count_tokens`."""
    return counted(state, body, read, b'{"input_tokens":%d')


def read(body: AnthropicRequest, uncountable: Uncountable) -> Conversation:
    """Return the conversation of a request."""
    if body.mcp_servers:
        error = ServiceError("invalid_option", "the tools of servers are not known here; send tools", "mcp_servers")
        uncountable.unless_skipped("mcp_servers", "mcp_servers", error)
    variables = Variables(body.chat_template_kwargs)
    conversation = Conversation(anthropic_blocks.PARAMETERS, "input", uncountable, variables)
    anthropic_blocks.read(conversation, body.system, body.messages)
    conversation.tools = anthropic_blocks.read_tools(body.tools, uncountable)
    if (body.thinking or {}).get("type") == "disabled":
        variables.set_effort("none", "thinking.type")
    elif isinstance(effort := (body.output_config or {}).get("effort"), str):
        variables.set_effort(effort, "output_config.effort")
    return conversation


def mount(app: FastAPI, state: ServerState) -> None:
    """Declare the route."""
    model = narrow(AnthropicCountRequest, messages=list_of(Object, state.settings.max_items))
    responses = error_responses(model=AnthropicError)
    path = "/v1/messages/count_tokens"
    post(app, state, path, anthropic_count_tokens, model, AnthropicCountAnswer, dialect=dialect, responses=responses)
