"""What the render routes have in common: the fields of a generation, and the answer that an engine takes.

vLLM calls the answer ``GenerateRequest``; sglang-renderer has the same facts under other names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import uuid4

import orjson

from service.errors import ServiceError
from service.http.fast_path import Plain
from service.http.json_body import parser
from service.http.response_json import Answer, Blocks, WrittenIds
from service.registry.engines import Engines
from service.registry.served import ServedTokenizer
from service.request_log import Headers, Trace
from service.routes.compat import prompts
from service.routes.compat.generation_models import GenerationFields
from service.routes.hashed_blocks import FIELD, hashes_of
from service.routes.json_route import Handler, Negotiate
from service.routes.texts import Array, Ids
from service.schemas.fields import Object
from service.state import State

_SAMPLING: dict[str, Any] = {
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "repetition_penalty": 1.0,
    "temperature": 1.0,
    "top_p": 1.0,
    "min_p": 0.0,
    "stop": [],
    "stop_token_ids": [],
    "bad_words": [],
    "skip_reading_prefix_cache": False,
}
"""vLLM's defaults, which are always written."""

_GREEDY = {"top_p": 1.0, "top_k": 0, "min_p": 0.0}
"""What vLLM sets where the temperature is 0."""

_OF_THE_MODEL = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "stop_token_ids")
"""What a model's ``generation_config.json`` says where the caller does not."""

_ONLY_IF_SENT = (
    *("n", "top_k", "seed", "min_tokens", "ignore_eos", "include_stop_str_in_output", "skip_special_tokens"),
    *("spaces_between_special_tokens", "prompt_logprobs"),
)
_OVERLAID = ("add_generation_prompt", "continue_final_message")
"""Variables of the template that the request's own fields set, in vLLM also where these are left out."""

_GAP = b"\0"

_UNHONOURED = ("required_prefix_token_ids", "prompt_embeds")
"""Fields that would change the ids, and that these routes do not take."""


class Prompt(NamedTuple):
    """The ids of one prompt, and where they stand in its text. Ids that are written are neither cut nor hashed."""

    ids: Ids | WrittenIds
    spans: Array | None = None


def sent_id(headers: Headers) -> str:
    """Return the id of a request that its header names; empty if none does."""
    return next((value.decode("latin-1") for name, value in headers if name == b"x-request-id"), "")


def id_of(sent: str, body: GenerationFields) -> str:
    """Return the id of a request: that of the header ``X-Request-Id``, or the body's, or a new one."""
    return sent or body.request_id or uuid4().hex


def named_by_header(
    state: State,
    model: type[GenerationFields],
    render: Callable[[State, Any, str], Answer],
    plain: Plain | None = None,
) -> Negotiate:
    """Return what hands a route the id of its request."""
    parse = parser(model)

    def negotiate(headers: Headers) -> Handler:
        given = sent_id(headers)
        answers = None if plain is None else plain.for_request(headers)
        return Handler(parse, lambda body: render(state.current.state, body, id_of(given, body)), plain=answers)

    return negotiate


def variables_of(sent: Mapping[str, Any] | None) -> Object:
    """Return the variables of the template that a caller sets, without those that fields of the request always set."""
    return {name: value for name, value in (sent or {}).items() if name not in _OVERLAID}


def refuse_unhonoured(body: GenerationFields) -> None:
    """Refuse what changes the ids and is not taken here.

    Errors:
        ``invalid_option``
    """
    if body.use_beam_search:
        raise ServiceError("invalid_option", "Beam search is not supported by the render endpoint", "use_beam_search")
    prompts.refuse_template(body.chat_template)
    for name in _UNHONOURED:
        if getattr(body, name) is not None:
            raise ServiceError("invalid_option", f"{name} changes the ids and is not taken here; leave it out", name)


def answer(
    state: State,
    loaded: ServedTokenizer,
    body: GenerationFields,
    found: Sequence[Prompt],
    request_id: str,
    *,
    is_list: bool = False,
) -> Answer:
    """Write what the engine takes: one request, or a list with one for each prompt.

    Args:
        request_id: of the whole answer; those of several prompts have their place behind it.

    Errors:
        ``invalid_option``: no id is left, or there are more than the model takes.
    """
    blocks, total = Blocks(), 0
    write = _sglang if state.engines.render(body.model, loaded.name) == "sglang" else _vllm
    blocks.add(b"[" if is_list else b"")
    for at, prompt in enumerate(found):
        prompt = _cut(loaded, body, prompt)
        total += len(prompt.ids)
        blocks.add(b"," if at else b"")
        most = _max_tokens(loaded.max_model_len - len(prompt.ids), _wanted(loaded, body))
        write(blocks, loaded, body, prompt, f"{request_id}-{at}" if len(found) > 1 else request_id, most)
    blocks.add(b"]" if is_list else b"")
    return Answer(blocks.finish(), total, loaded.hash, headers=state.engines.headers(body.model, loaded))


class Frame(NamedTuple):
    """What an answer about one prompt is but for the id of the request, the ids, and the tokens that are left.

    Attributes:
        parts: what stands before, between and behind these three.
        wanted: how many tokens are to be made at most, if that is said.
    """

    parts: tuple[bytes, bytes, bytes, bytes]
    wanted: int | None
    headers: Trace

    def fill(self, loaded: ServedTokenizer, request_id: str, ids: bytes, count: int) -> Answer:
        """Return the answer about a prompt of so many ids."""
        before, behind_id, behind_ids, behind = self.parts
        left = b"%d" % _max_tokens(loaded.max_model_len - count, self.wanted)
        body = b"".join((before, orjson.dumps(request_id), behind_id, ids, behind_ids, left, behind))
        return Answer([body], count, loaded.hash, headers=self.headers)


def frame(engines: Engines, loaded: ServedTokenizer, body: GenerationFields) -> Frame:
    """Return what is the same for all prompts that come with equal fields.

    Errors:
        ``invalid_option``
    """
    refuse_unhonoured(body)
    blocks = Blocks()
    write = _sglang if engines.render(body.model, loaded.name) == "sglang" else _vllm
    # Bytes that JSON cannot hold mark the places of what is filled in.
    gap = orjson.Fragment(_GAP)
    write(blocks, loaded, body, Prompt(WrittenIds(_GAP, 0)), gap, gap)
    before, behind_id, behind_ids, behind = b"".join(map(bytes, blocks.finish())).split(_GAP)
    parts = before, behind_id, behind_ids, behind
    return Frame(parts, _wanted(loaded, body), engines.headers(body.model, loaded))


def _cut(loaded: ServedTokenizer, body: GenerationFields, prompt: Prompt) -> Prompt:
    """Truncate a prompt as asked, and refuse what no model takes."""
    most, kept = loaded.max_model_len, body.truncate_prompt_tokens
    if kept is not None:
        if kept > most:
            raise ServiceError(
                "invalid_option",
                f"{kept} is more than the model's maximum context length ({most})",
                "truncate_prompt_tokens",
            )
        size = len(prompt.ids)
        keep = min(size, most if kept == -1 else kept)
        side = body.truncation_side or loaded.tokenizer.settings.truncation_side
        part = slice(size - keep, None) if side == "left" else slice(keep)
        assert not isinstance(prompt.ids, WrittenIds)
        prompt = Prompt(prompt.ids[part], None if prompt.spans is None else prompt.spans[part])
    if len(prompt.ids) == 0:
        raise ServiceError("invalid_option", "No token_ids rendered")
    if len(prompt.ids) > most:
        raise ServiceError(
            "invalid_option", f"Input length ({len(prompt.ids)}) exceeds model's maximum context length ({most})."
        )
    return prompt


def _wanted(loaded: ServedTokenizer, body: GenerationFields) -> int | None:
    wanted = body.most_tokens()
    return loaded.generation.get("max_new_tokens") if wanted is None else wanted


def _max_tokens(left: int, wanted: int | None) -> int:
    return left if wanted is None else min(left, wanted)


def _sampling(loaded: ServedTokenizer, body: GenerationFields) -> dict[str, Any]:
    """Return the parameters of sampling that both engines share, by vLLM's names."""
    params = {
        name: default if (sent := getattr(body, name, None)) is None else sent for name, default in _SAMPLING.items()
    }
    if isinstance(params["stop"], str):
        params["stop"] = [params["stop"]]
    for name in _OF_THE_MODEL:
        if getattr(body, name) is None and (own := loaded.generation.get(name)) is not None:
            params[name] = own
    params |= {name: value for name in _ONLY_IF_SENT if (value := getattr(body, name)) is not None}
    if body.structured_outputs is not None:
        params["structured_outputs"] = _copied(body, "structured_outputs")
    if params.get("seed") == -1:
        del params["seed"]
    if params["temperature"] == 0:
        params |= _GREEDY
    return params


def _copied(body: GenerationFields, name: str) -> orjson.Fragment | None:
    """Return an object of the caller's as JSON, with every number as it was sent.

    Errors:
        ``invalid_value``: a number is beyond what a reader of JSON takes.
    """
    value = getattr(body, name)
    if value is None:
        return None
    try:
        # Not orjson, which refuses whole numbers of more than 64 bits and writes null for a number that is too large.
        return orjson.Fragment(json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")))
    except ValueError:
        raise ServiceError("invalid_value", "a number in it is too large", name) from None


def _hashed(body: GenerationFields, prompt: Prompt) -> dict[str, Any]:
    if body.block_hashes is None:
        return {}
    assert not isinstance(prompt.ids, WrittenIds)
    return {FIELD: hashes_of(body.block_hashes, prompt.ids)}


def _model(loaded: ServedTokenizer, body: GenerationFields) -> str:
    return loaded.name if body.model is None else body.model


def _vllm(
    blocks: Blocks,
    loaded: ServedTokenizer,
    body: GenerationFields,
    prompt: Prompt,
    request_id: str | orjson.Fragment,
    most: int | orjson.Fragment,
) -> None:
    params = _sampling(loaded, body) | {
        "max_tokens": most,
        "output_kind": 1 if body.stream else 2,
        "skip_clone": True,
    }
    if (logprobs := body.logprobs_wanted()) is not None:
        params["logprobs"] = logprobs
    blocks.add(orjson.dumps({"request_id": request_id})[:-1] + b',"token_ids":')
    blocks.add_json(prompt.ids)
    blocks.add(b',"token_offsets":')
    blocks.add_json(prompt.spans)
    rest = {
        "features": None,
        "content_parts": None,
        "sampling_params": params,
        "model": _model(loaded, body),
        "reasoning_ended": None,
        "reasoning_parser_kwargs": None,
        "return_token_ids": None,
        "output_mode": "tokens",
        "stream": bool(body.stream),
        "stream_options": _copied(body, "stream_options"),
        "cache_salt": body.cache_salt,
        "priority": body.priority or 0,
        "kv_transfer_params": _copied(body, "kv_transfer_params"),
        "ec_transfer_params": _copied(body, "ec_transfer_params"),
        **_hashed(body, prompt),
    }
    blocks.add(b"," + orjson.dumps(rest)[1:])


def _sglang(
    blocks: Blocks,
    loaded: ServedTokenizer,
    body: GenerationFields,
    prompt: Prompt,
    request_id: str | orjson.Fragment,
    most: int | orjson.Fragment,
) -> None:
    if (body.n or 1) > 1:
        raise ServiceError("invalid_option", "one answer a request is rendered; leave n out", "n")
    params = _sampling(loaded, body) | {"max_new_tokens": most}
    for name in ("bad_words", "skip_reading_prefix_cache"):
        del params[name]
    logprobs = body.logprobs_wanted()
    rest = {
        "sampling_params": params,
        "stream": bool(body.stream),
        "return_logprob": logprobs is not None,
        "logprob_start_len": -1,
        "top_logprobs_num": logprobs or 0,
        "return_hidden_states": False,
        "model": _model(loaded, body),
        "cache_salt": body.cache_salt,
        "extra_key": None,
        "priority": body.priority or 0,
        **_hashed(body, prompt),
    }
    blocks.add(orjson.dumps({"rid": request_id})[:-1] + b',"input_ids":')
    blocks.add_json(prompt.ids)
    blocks.add(b"," + orjson.dumps(rest)[1:])
