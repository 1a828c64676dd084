"""The requests and answers of the derender routes on the wire: what an engine generated, and what a caller asked for.

vLLM calls the engine's answer ``GenerateResponse``; only the fields that are read here are named.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from service.routes.compat.generation_models import Integer
from service.routes.compat.render_chat import Effort
from service.schemas.fields import LEFT_TO_RIGHT, Id, List, Object, Position
from service.schemas.requests import RequestBody

Ids = List[Id]


class _Given(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)


class GeneratedLogProb(_Given):
    """A token that could have been, with its logarithm of a probability."""

    token_id: Integer = Field(description="An id without a token has an empty text.")
    logprob: FiniteFloat


class GeneratedToken(GeneratedLogProb):
    """The token of one place, with others that could have been."""

    top_logprobs: List[GeneratedLogProb] = []


class GeneratedLogProbs(_Given):
    """The logarithms of probabilities of a choice, one entry a token."""

    content: List[GeneratedToken] | None = None


class GeneratedDelta(_Given):
    """The new ids of one output."""

    index: Integer
    finish_reason: str | None = None
    stop_reason: Annotated[Integer | str | None, LEFT_TO_RIGHT] = None
    token_ids: Ids | None = None
    logprobs: GeneratedLogProbs | None = None


class GeneratedChoice(GeneratedDelta):
    """All ids of one output."""

    finish_reason: str | None = "stop"


class Usage(_Given):
    """Numbers of ids, of which the engine has counted these."""

    prompt_tokens: Position = 0
    completion_tokens: Position | None = 0


class Generated(_Given):
    """An answer of the engine's or a part of it. Fields that are not named here are ignored."""

    request_id: str | None = None
    output_mode: Literal["tokens"] = "tokens"
    prompt_token_ids: Ids | None = None
    metrics: Object | None = Field(None, description="Copied.")


class GenerateChunk(Generated):
    """A part of an answer, as the engine streams it."""

    usage: Usage | None = None
    choices: List[GeneratedDelta]


class GenerateResponse(Generated):
    """A whole answer."""

    choices: List[GeneratedChoice]
    prompt_logprobs: List[Object | None] | None = Field(None, description="Copied.")
    kv_transfer_params: Object | None = Field(None, description="Copied.")


class DerenderFields(RequestBody):
    """The fields that both routes have. Fields that are not named here are ignored."""

    model: str | None = Field(None, description="A model of the settings, or a name, hash or `name@hash`.")
    stream: bool = Field(False, description="One chunk of a stream: `generate_chunk` and `stream_state` are read.")
    generate_chunk: GenerateChunk | None = Field(None, description="Of a stream: the engine's chunk, of one output.")
    stream_state: str | None = Field(
        None, description="Of a stream: that of the answer before for this output; null at first."
    )


class AnsweredRequest(_Given):
    """The request that was rendered; what is not named here has no part in its answer."""

    skip_special_tokens: bool | None = Field(None, description="Leave special tokens out of texts; true.")


class AnsweredChatRequest(AnsweredRequest):
    """The request for a chat completion that was rendered; what is not named here has no part in its answer."""

    model: str | None = None
    messages: List[Object] = Field(description="Rendered again if no ids of the prompt are sent.")
    tools: List[Object] | None = Field(None, description="Say the types of arguments.")
    tool_choice: Annotated[str | Object | None, LEFT_TO_RIGHT] = None
    chat_template_kwargs: Object | None = None
    reasoning_effort: Effort | None = None
    documents: List[Object] | None = None
    add_generation_prompt: bool | None = None
    continue_final_message: bool | None = None
    include_reasoning: bool | None = Field(None, description="Return the reasoning; true.")
    parallel_tool_calls: bool | None = Field(None, description="False: a stream has the first call alone.")
    return_token_ids: bool | None = Field(None, description="Return the ids of each choice, too.")


class TopLogProb(BaseModel):
    """A token, with its logarithm of a probability."""

    token: str
    logprob: float
    bytes: list[int] | None


class TokenLogProb(TopLogProb):
    """The token of one place, with others that could have been."""

    top_logprobs: list[TopLogProb]


class ChatLogProbs(BaseModel):
    """One entry a token."""

    content: list[TokenLogProb] | None


class CompletionLogProbs(BaseModel):
    """The same in lists, one entry a token."""

    text_offset: list[int]
    token_logprobs: list[float]
    tokens: list[str]
    top_logprobs: list[dict[str, float] | None]


class UsageAnswer(BaseModel):
    """Numbers of ids."""

    prompt_tokens: int
    total_tokens: int
    completion_tokens: int
    prompt_tokens_details: None
    completion_tokens_details: None


class DerenderAnswer(BaseModel):
    """The fields that every answer has."""

    id: str
    created: int
    model: str
    system_fingerprint: None
    metrics: Any


def usage(prompt: int, completion: int) -> Object:
    """Count ids as OpenAI does."""
    return {
        "prompt_tokens": prompt,
        "total_tokens": prompt + completion,
        "completion_tokens": completion,
        "prompt_tokens_details": None,
        "completion_tokens_details": None,
    }
