"""``POST /v1/responses/input_tokens`` as OpenAI has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from fastapi import FastAPI
from pydantic import BaseModel, Field

from service.errors import ServiceError
from service.http.response_json import Answer
from service.routes.compat import openai_items
from service.routes.compat.body_objects import Uncountable
from service.routes.compat.conversation import Conversation, Variables
from service.routes.compat.counting import SKIPPED, UNCOUNTABLE, Skipped, counted
from service.routes.compat.dialects import status_of
from service.routes.json_route import error_responses, post
from service.schemas.fields import Object
from service.schemas.narrowing import LEFT_TO_RIGHT, either, list_of, narrow
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
    input: Annotated[str | list[Object] | None, LEFT_TO_RIGHT] = Field(
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
    return counted(state, body, read, head, continues=openai_items.goes_on(body.input), form="responses")


def read(body: OpenaiRequest, uncountable: Uncountable) -> Conversation:
    """Return the conversation of a request."""
    for name in STATE:
        if getattr(body, name) is not None:
            raise ServiceError("invalid_option", f"nothing is kept here; send {name} as items of input", name)
    conversation = Conversation("parameters", "arguments", uncountable, Variables(body.chat_template_kwargs))
    openai_items.read(conversation, body.instructions, body.input)
    conversation.tools = openai_items.read_tools(body.tools, uncountable)
    if isinstance(effort := (body.reasoning or {}).get("effort"), str):
        conversation.variables.set_effort(effort, "reasoning.effort")
    return conversation


def mount(app: FastAPI, state: ServerState) -> None:
    """Declare the route."""
    model = narrow(OpenaiCountRequest, input=either(str, list_of(Object, state.settings.max_items), None))
    responses = error_responses(model=OpenaiError)
    path = "/v1/responses/input_tokens"
    post(app, state, path, openai_input_tokens, model, OpenaiCountAnswer, dialect=dialect, responses=responses)
