"""``POST /v1/responses/input_tokens`` as OpenAI has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from fastapi import FastAPI
from pydantic import BaseModel, Field

from service.errors import ServiceError
from service.http.response_json import Answer
from service.routes.compat import openai_items
from service.routes.compat.counting import SKIPPED, UNCOUNTABLE, Skipped, counted
from service.routes.compat.dialects import status_of
from service.routes.compat.parts import Uncountable
from service.routes.compat.tools import function_tools
from service.routes.compat.variables import Variables
from service.routes.json_route import error_responses, post
from service.schemas.fields import Object
from service.schemas.requests import LEFT_TO_RIGHT, Example, RequestBody, either, list_of, narrow
from service.state import State

_CODES = {
    "missing_field": "missing_required_parameter",
    "tokenizer_not_found": "model_not_found",
    "unauthorized": "invalid_api_key",
}
"""What OpenAI calls some of our codes; clients look at the last two."""

_STATE = ("conversation", "previous_response_id")


class OpenaiCountRequest(RequestBody):
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
        None, description="The template's variable `tool_choice`, if there are tools."
    )
    reasoning: Object | None = Field(
        None, description="`effort` is the template's variable `reasoning_effort`, and `enable_thinking` if not `none`."
    )
    chat_template_kwargs: Object | None = Field(None, description="Further variables of the template.")
    uncountable: Literal["refuse", "skip"] | None = UNCOUNTABLE
    conversation: Any = Field(None, description="Refused: no conversation is kept here; send it as `input`.")
    previous_response_id: Any = Field(None, description="Refused: no response is kept here; send it as `input`.")

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

    def renders(self) -> bool:
        """Tell that there is a chat."""
        return True


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


def openai_input_tokens(state: State, body: OpenaiCountRequest) -> Answer:
    """Count the tokens of a request, as OpenAI's `/v1/responses/input_tokens`."""
    # All that a model would be given, the beginning of its turn included.
    loaded, settings = state.registry.of_model(body.model), state.settings
    for name in _STATE:
        if getattr(body, name) is not None:
            raise ServiceError("invalid_option", f"nothing is kept here; send {name} as items of input", name)
    uncountable = Uncountable(skip=(body.uncountable or settings.uncountable) == "skip")
    conversation = openai_items.read(body.instructions, body.input, uncountable)
    tools, templates = function_tools(body.tools, uncountable), loaded.tokenizer.settings
    if "developer" not in templates.templates.get(templates.template_name(has_tools=bool(tools)), ""):
        for turn in conversation.turns:
            # A template that does not know this role would refuse it or, worse, leave it out.
            turn.role = "system" if turn.role == "developer" else turn.role
    variables = Variables(body.chat_template_kwargs)
    if isinstance(effort := (body.reasoning or {}).get("effort"), str):
        variables.set_effort(effort, "reasoning.effort")
    if tools:
        variables.set("tool_choice", body.tool_choice or "auto", "tool_choice")
    continues = openai_items.goes_on(body.input)
    tokens = conversation.count(loaded, settings, tools, variables, continues=continues)
    return counted(loaded, tokens, b'{"object":"response.input_tokens","input_tokens":%d' % tokens, uncountable)


def mount(app: FastAPI, state: State) -> None:
    """Declare the route."""
    model = narrow(OpenaiCountRequest, input=either(str, list_of(Object, state.settings.max_items), None))
    responses = error_responses(model=OpenaiError)
    path = "/v1/responses/input_tokens"
    post(app, state, path, openai_input_tokens, model, OpenaiCountAnswer, dialect=dialect, responses=responses)
