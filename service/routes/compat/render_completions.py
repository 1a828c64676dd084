"""``POST /v1/completions/render`` as vLLM has it: prompts, or their ids, to what an engine generates from."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from fastapi import FastAPI
from pydantic import Field, RootModel

from service.errors import ServiceError, core_errors_at
from service.http.response_json import Answer
from service.registry.served import ServedTokenizer
from service.routes.compat import generation, prompts
from service.routes.compat.generation import Prompt
from service.routes.compat.generation_models import GenerateRequest, GenerationFields, Integer
from service.routes.texts import refuse_large_frames
from service.schemas.fields import LEFT_TO_RIGHT, Id, MostIds, MostItems
from service.schemas.inline import INLINE_ITEMS
from service.schemas.requests import Example
from service.state import ServerState

PATH = "/v1/completions/render"
_MAX_TOKENS = 16
"""OpenAI's default."""


class VllmRenderCompletionRequest(GenerationFields):
    """A request for completions. Fields that are not named here are ignored."""

    prompt: Annotated[str | MostItems[str] | MostIds[Id] | MostItems[MostIds[Id]], LEFT_TO_RIGHT] = Field(
        description="A text, ids, or a list of either. Literals of special tokens in texts become tokens."
    )
    add_special_tokens: bool | None = Field(None, description="Put what the tokenizer puts around a text; true.")
    max_tokens: int | None = Field(None, ge=0, description="16 by default.")
    logprobs: Integer | None = None

    EXAMPLES: ClassVar[dict[str, Example]] = {
        "a prompt": Example("a list with one request", {"prompt": "Hello, world"}),
        "prompts": Example("a request for each", {"prompt": ["one", "one two"]}),
        "ids": Example("taken as they are", {"prompt": [40, 41, 42], "max_tokens": 8}),
        "beams": Example("refused, as in vLLM", {"prompt": "Hi", "use_beam_search": True}, status=400),
    }

    def heavy(self) -> bool:
        """Tell whether there are many prompts."""
        return type(self.prompt) is list and len(self.prompt) > INLINE_ITEMS

    def cut_by(self) -> tuple[str | None, ...]:
        """Return the model."""
        return (self.model,)

    def most_tokens(self) -> int | None:
        """Return what is asked for, or OpenAI's default."""
        return _MAX_TOKENS if self.max_tokens is None else self.max_tokens

    def logprobs_wanted(self) -> int | None:
        """Return how many alternatives there are to be, if any are."""
        return self.logprobs


class GenerateRequests(RootModel[list[GenerateRequest]]):
    """One request for each prompt."""


def vllm_render_completions(state: ServerState, body: VllmRenderCompletionRequest, request_id: str = "") -> Answer:
    """Turn prompts into what an engine generates from, as vLLM's `/v1/completions/render`."""
    generation.refuse_unhonoured(body)
    if body.logprobs is not None and body.logprobs < -1:
        raise ServiceError("invalid_value", "this is at least -1", "logprobs")
    if body.echo:
        body = body.model_copy(
            update={
                "prompt_logprobs": body.logprobs if body.prompt_logprobs is None else body.prompt_logprobs,
                "max_tokens": 1 if body.max_tokens == 0 else body.max_tokens,
            }
        )
    loaded = state.registry.of_model(body.model)
    prompt: Any = body.prompt
    if prompt == []:
        raise ServiceError("invalid_value", "send at least one prompt", "prompt")
    many = isinstance(prompt, list) and not isinstance(prompt[0], int)
    given = prompt if many else [prompt]
    total = sum(len(each) for each in given if isinstance(each, list))
    if total > state.settings.max_ids:
        raise ServiceError("too_many_ids", f"there are more than {state.settings.max_ids} ids", "prompt")
    if many and body.add_special_tokens is not False:
        refuse_large_frames(loaded, [each for each in given if isinstance(each, str)], state.settings.max_ids, "prompt")
    found = [_prompt(loaded, body, each, f"prompt[{at}]" if many else "prompt") for at, each in enumerate(given)]
    return generation.answer(state, loaded, body, found, f"cmpl-{request_id}", is_list=True)


def _prompt(loaded: ServedTokenizer, body: VllmRenderCompletionRequest, given: str | list[int], path: str) -> Prompt:
    wants_spans, framed = bool(body.return_token_offsets), body.add_special_tokens is not False
    if isinstance(given, str):
        if not wants_spans:
            return Prompt(prompts.encode(loaded, given, add_special_tokens=framed, path=path))
        with core_errors_at(path):
            found = loaded.tokenizer.offsets(given, "char", special_tokens="parse", add_special_tokens=framed)
        return Prompt(found.ids, found.spans)
    return Prompt(prompts.ids_of(loaded, given, path))


def mount(app: FastAPI, state: ServerState) -> None:
    """Declare the route."""
    generation.declare(app, state, PATH, vllm_render_completions, VllmRenderCompletionRequest, GenerateRequests)
