"""``POST /v1/responses/input_tokens`` as OpenAI has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from fastapi import FastAPI
from pydantic import BaseModel, Field

from service.answers.writing import Answer
from service.errors import ServiceError
from service.routes.compat import openai_items, prompts
from service.routes.compat.dialects import status_of
from service.routes.json_route import error_responses, post
from service.schemas.fields import Object
from service.schemas.requests import LEFT_TO_RIGHT, Example, RequestBody, either, list_of, narrow
from service.settings import Settings
from service.state import State
from service.tokenizers.loaded import Loaded

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
        None, description="A text, or items: messages, function calls and their outputs, reasoning. Others are refused."
    )
    instructions: str | None = Field(None, description="A system message before the input.")
    tools: list[Object] | None = Field(None, description="Functions; a tool of any other type is refused.")
    reasoning: Object | None = Field(None, description="`effort` is the template's variable `reasoning_effort`.")
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


def count(loaded: Loaded, body: OpenaiCountRequest, settings: Settings) -> Answer:
    """Count what a model would be given, the beginning of its turn included."""
    for name in _STATE:
        if getattr(body, name) is not None:
            raise ServiceError("invalid_option", f"nothing is kept here; send {name} as items of input", name)
    conversation = openai_items.read(body.instructions, body.input)
    tools, templates = openai_items.read_tools(body.tools), loaded.tokenizer.settings
    if "developer" not in templates.templates.get(templates.template_name(has_tools=tools is not None), ""):
        for message in conversation.messages:
            # A template that does not know this role would refuse it or, worse, leave it out.
            message["role"] = "system" if message["role"] == "developer" else message["role"]
    effort = (body.reasoning or {}).get("effort")
    tokens = conversation.count(
        loaded,
        settings,
        tools=tools,
        add_generation_prompt=True,
        template_args={"reasoning_effort": effort} if isinstance(effort, str) else None,
    )
    return prompts.written(loaded, tokens, b'{"object":"response.input_tokens","input_tokens":%d}' % tokens)


def mount(app: FastAPI, state: State) -> None:
    """Declare the route."""
    registry, most = state.registry, state.settings.max_items
    model = narrow(OpenaiCountRequest, input=either(str, list_of(Object, most), None))

    @post(
        app,
        "/v1/responses/input_tokens",
        model,
        OpenaiCountAnswer,
        state,
        dialect=dialect,
        responses=error_responses(model=OpenaiError),
    )
    def openai_input_tokens(body: OpenaiCountRequest) -> Answer:
        """Count the tokens of a request, as OpenAI's `/v1/responses/input_tokens`."""
        return count(registry.of_model(body.model), body, state.settings)
