"""``POST /v1/completions/derender`` as vLLM has it: what an engine generated from prompts, back to texts."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from fastapi import FastAPI
from pydantic import BaseModel, Field, RootModel

from service.errors import ServiceError
from service.http.response_json import Answer
from service.registry.served import ServedTokenizer
from service.routes.compat import derendering, sampling, vllm
from service.routes.compat.derender_models import (
    AnsweredRequest,
    CompletionLogProbs,
    DerenderAnswer,
    DerenderFields,
    GeneratedDelta,
    GenerateResponse,
    Ids,
    UsageAnswer,
    usage,
)
from service.routes.compat.derendering import Outputs, as_lists
from service.routes.json_route import post
from service.schemas.fields import LEFT_TO_RIGHT, List, Object, Position
from service.schemas.requests import Example
from service.state import ServerState

PATH = "/v1/completions/derender"


class VllmDerenderCompletionRequest(DerenderFields):
    """What an engine generated from prompts. Fields that are not named here are ignored."""

    generate_responses: List[GenerateResponse] | None = Field(
        None, description="The engine's answers, one for each prompt."
    )
    prompt_tokens: Annotated[list[Position] | Position | None, LEFT_TO_RIGHT] = Field(
        None, description="The number of ids of each prompt, for `usage`; of a stream one number."
    )
    prompt_token_ids: Annotated[Ids | List[Ids | None] | None, LEFT_TO_RIGHT] = Field(
        None, description="The ids of each prompt, or the last of them: a first space may hang on them."
    )
    completion_request: AnsweredRequest | None = Field(None, description="The request that was rendered.")

    EXAMPLES: ClassVar[dict[str, Example]] = {
        "an answer": Example(
            "ids that an engine made of one prompt",
            {"generate_responses": [{"request_id": "cmpl-1", "choices": [{"index": 0, "token_ids": [40, 41]}]}]},
        ),
        "a chunk": Example(
            "the first of a stream",
            {"stream": True, "generate_chunk": {"request_id": "cmpl-1", "choices": [{"index": 0, "token_ids": [40]}]}},
        ),
        "nothing": Example("no output has no ids", {"generate_responses": [{"choices": [{"index": 0}]}]}, status=400),
    }


class CompletionChoice(BaseModel):
    """A text; a chunk of a stream has neither `prompt_logprobs` nor `routed_experts`."""

    index: int
    text: str
    logprobs: CompletionLogProbs | None
    finish_reason: str | None
    stop_reason: int | str | None
    token_ids: None
    prompt_token_ids: None
    prompt_logprobs: None = None
    routed_experts: None = None


class VllmCompletion(DerenderAnswer):
    """Completions, or a chunk of one."""

    object: Literal["text_completion"]
    choices: list[CompletionChoice]
    usage: UsageAnswer | None
    service_tier: None = None
    kv_transfer_params: Object | None = None
    ec_transfer_params: None = None


class VllmCompletionChunk(BaseModel):
    """A chunk, and the state for the next."""

    chunk: VllmCompletion
    stream_state: str


class VllmDerenderedCompletion(RootModel[VllmCompletion | VllmCompletionChunk]):
    """The whole answer, or of a stream a chunk."""


def vllm_derender_completions(state: ServerState, body: VllmDerenderCompletionRequest) -> Answer:
    """Turn ids that an engine generated into completions, as vLLM's `/v1/completions/derender`."""
    return _chunk(state, body) if body.stream else _whole(state, body)


def _whole(state: ServerState, body: VllmDerenderCompletionRequest) -> Answer:
    loaded, responses = state.registry.of_model(body.model), body.generate_responses
    if responses is None:
        raise ServiceError("missing_field", "this field is required", "generate_responses")
    if not responses:
        raise ServiceError("invalid_option", "generate_responses must not be empty", "generate_responses")
    counts = _each("prompt_tokens", body.prompt_tokens, len(responses))
    given = _each("prompt_token_ids", body.prompt_token_ids, len(responses))
    prompts = [each.prompt_token_ids if own is None else own for own, each in zip(given, responses, strict=True)]
    derendering.bound(state, loaded, body.model, responses, prompts)
    outputs, choices, total = _outputs(loaded, body), list[Object](), 0
    for at, (response, prompt) in enumerate(zip(responses, prompts, strict=True)):
        for place, choice in enumerate(response.choices):
            path = f"generate_responses[{at}].choices[{place}]"
            name = f"choice {choice.index} in response {response.request_id}"
            total += len(derendering.ids_of(choice, path, name))
            text = outputs.begin(prompt).push(choice, path, is_last=True)
            made = _choice(len(choices), choice, text, as_lists(outputs.logprobs(choice.logprobs)))
            choices.append(made | {"prompt_logprobs": None, "routed_experts": None})
    first, *others = responses
    is_one = all(each.kv_transfer_params == first.kv_transfer_params for each in others)
    fields = {
        "object": "text_completion",
        "choices": choices,
        "service_tier": None,
        "usage": usage(sum(count or 0 for count in counts), total),
        "kv_transfer_params": sampling.copied(first, "kv_transfer_params") if is_one else None,
        "ec_transfer_params": None,
        # Those of several prompts cannot be one.
        **({"metrics": None} if others else {}),
    }
    return derendering.answer(state, loaded, body, first, fields, total)


def _chunk(state: ServerState, body: VllmDerenderCompletionRequest) -> Answer:
    loaded = state.registry.of_model(body.model)
    prompt: Any = body.prompt_token_ids
    prompt_tokens: Any = body.prompt_tokens
    for name, is_list in (
        ("prompt_tokens", isinstance(prompt_tokens, list)),
        ("prompt_token_ids", bool(prompt) and not isinstance(prompt[0], int)),
    ):
        if is_list:
            raise ServiceError("invalid_type", "a stream has one prompt; send its own, in no list", name)
    words = "derender_completion_stream expects at most one choice per chunk"
    begun = derendering.begin_step(state, loaded, body, prompt, words)
    step = _outputs(loaded, body).step(begun, begun.chunk.prompt_token_ids if prompt is None else prompt)
    choices = []
    if step.choice is not None:
        logprobs = as_lists(step.logprobs, step.before.offset)
        choices.append(_choice(step.choice.index, step.choice, step.text, logprobs))
    fields = {"object": "text_completion", "choices": choices, "usage": step.usage(prompt_tokens)}
    return derendering.answer(state, loaded, body, step.chunk, fields, len(step.ids), step.after)


def _outputs(loaded: ServedTokenizer, body: VllmDerenderCompletionRequest) -> Outputs:
    sent = body.completion_request
    return Outputs(loaded, skips=sent is None or sent.skip_special_tokens is not False)


def _choice(index: int, choice: GeneratedDelta, text: str, logprobs: Object | None) -> Object:
    return {
        "index": index,
        "text": text,
        "logprobs": logprobs,
        "finish_reason": choice.finish_reason,
        "stop_reason": choice.stop_reason,
        "token_ids": None,
        "prompt_token_ids": None,
    }


def _each(name: str, given: Any, count: int) -> list[Any]:
    """Return what is given for each of several answers."""
    if given is None:
        return [None] * count
    if not isinstance(given, list) or any(isinstance(each, int) for each in given if name == "prompt_token_ids"):
        raise ServiceError("invalid_type", "this must be a list with one entry for each of generate_responses", name)
    if len(given) != count:
        detail = f"{name} length ({len(given)}) must equal generate_responses length ({count})"
        raise ServiceError("invalid_value", detail, name)
    return given


def mount(app: FastAPI, state: ServerState) -> None:
    """Declare the route."""
    post(
        *(app, state, PATH, vllm_derender_completions, VllmDerenderCompletionRequest, VllmDerenderedCompletion),
        dialect=vllm.dialect,
        responses=vllm.RESPONSES,
    )
