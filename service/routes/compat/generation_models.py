"""The requests and answers of the render routes on the wire, beside the prompt: the fields of a generation.

vLLM calls the answer ``GenerateRequest``; sglang-renderer has the same facts under other names.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, Field, FiniteFloat

from service.schemas.block_hashes import BLOCK_HASHES, BlockHashesOfRow
from service.schemas.fields import LEFT_TO_RIGHT, Object, drop_default
from service.schemas.requests import RequestBody
from service.schemas.since import NEW_IDS, PREFIX_HASH, SINCE, SINCE_OF_ANSWER, Since
from tokenizer_core import Side

_MAX_INTEGER = (1 << 63) - 1

Integer = Annotated[int, Field(ge=-_MAX_INTEGER - 1, le=_MAX_INTEGER)]
"""A whole number, as engines and writers of JSON take it."""

TokenId = Annotated[str, Field(pattern=r"^[0-9]{1,10}$")]
"""The id of a token as a key of JSON."""


class GenerationFields(RequestBody):
    """What is generated, beside the prompt. Fields that are not named here are ignored."""

    model: str | None = Field(None, description="A model of the settings, or a name, hash or `name@hash`.")
    request_id: str | None = Field(None, description="The id of the answer, unless there is a header `X-Request-Id`.")
    truncate_prompt_tokens: int | None = Field(
        None, ge=-1, description="Keep so many ids of the prompt; -1 is as many as the model takes."
    )
    truncation_side: Side | None = Field(
        None, description="Keep the last ids (`left`, the default) or the first (`right`)."
    )
    return_token_offsets: bool | None = Field(None, description="Also return the span of each id in code points.")
    stream: bool | None = Field(None, description="Copied, and the engine's kind of output.")
    stream_options: Object | None = None
    cache_salt: str | None = Field(None, min_length=1, max_length=1024)
    priority: Integer | None = None
    kv_transfer_params: Object | None = None
    ec_transfer_params: Object | None = None
    n: Integer | None = None
    presence_penalty: FiniteFloat | None = None
    frequency_penalty: FiniteFloat | None = None
    repetition_penalty: FiniteFloat | None = None
    temperature: FiniteFloat | None = None
    top_p: FiniteFloat | None = None
    top_k: Integer | None = None
    min_p: FiniteFloat | None = None
    seed: Integer | None = None
    stop: Annotated[str | list[str] | None, LEFT_TO_RIGHT] = None
    stop_token_ids: list[Integer] | None = None
    bad_words: list[str] | None = None
    min_tokens: Integer | None = None
    ignore_eos: bool | None = None
    include_stop_str_in_output: bool | None = None
    skip_special_tokens: bool | None = None
    spaces_between_special_tokens: bool | None = None
    prompt_logprobs: Integer | None = None
    echo: bool | None = Field(None, description="Asks for `prompt_logprobs` too, as many as for an answer.")
    logit_bias: dict[TokenId, FiniteFloat] | None = None
    allowed_token_ids: list[Integer] | None = None
    thinking_token_budget: Integer | None = None
    structured_outputs: Object | None = None
    response_format: Object | None = Field(None, description="OpenAI's form of `structured_outputs`.")
    vllm_xargs: Object | None = Field(None, description="The engine's `extra_args`.")
    block_hashes: Object | None = BLOCK_HASHES
    since: Since | None = SINCE
    use_beam_search: bool | None = Field(None, description="Refused.")
    chat_template: Any = Field(None, description="Refused: a template comes with the tokenizer.")
    required_prefix_token_ids: Any = Field(None, description="Refused.")
    prefix_ids: Any = Field(None, description="Refused.")
    new_from: Any = Field(None, description="Refused.")
    prompt_embeds: Any = Field(None, description="Refused.")

    WRITES_EXTRA: ClassVar[bool] = False
    """True if ``extra_args`` are written even if there are none."""

    OTHERS: ClassVar[tuple[str, ...]] = ()
    """Fields of other routes, which vLLM ignores here."""

    def own(self) -> Self:
        """Return the request without what vLLM ignores on its route."""
        return self.model_copy(update=dict.fromkeys(self.OTHERS)) if self.OTHERS else self

    def most_tokens(self) -> int | None:
        """Return how many tokens the caller wants at most."""
        return None

    def logprobs_wanted(self) -> int | None:
        """Return how many alternatives of each token the caller wants."""
        return None


class NewIds(BaseModel):
    """The fields that ``since`` adds, and those of ``block_hashes``."""

    new_ids: list[int] = Field([], description=NEW_IDS, json_schema_extra=drop_default)
    prefix_hash: str = Field("", description=PREFIX_HASH, json_schema_extra=drop_default)
    since: Since | None = Field(None, description=SINCE_OF_ANSWER, json_schema_extra=drop_default)
    block_hashes: BlockHashesOfRow | None = Field(None, description="Only if asked for.")


class GenerateRequest(NewIds):
    """What an engine generates from, as vLLM has it; with `since` its ids are null."""

    request_id: str
    token_ids: list[int] | None
    token_offsets: list[tuple[int, int]] | None
    features: None
    content_parts: None
    sampling_params: Object
    model: str
    reasoning_ended: None
    reasoning_parser_kwargs: None
    return_token_ids: None
    output_mode: Literal["tokens"]
    stream: bool
    stream_options: Object | None
    cache_salt: str | None
    priority: int
    kv_transfer_params: Object | None
    ec_transfer_params: Object | None


class SglangGenerateRequest(NewIds):
    """The same as sglang-renderer has it, for models of the setting `render`."""

    rid: str
    input_ids: list[int] | None
    sampling_params: Object
    stream: bool
    return_logprob: bool
    logprob_start_len: int
    top_logprobs_num: int
    return_hidden_states: bool
    model: str
    cache_salt: str | None
    extra_key: None
    priority: int
