"""What the render routes have in common: the fields of a generation, and the answer that an engine takes.

vLLM calls the answer ``GenerateRequest``; sglang-renderer has the same facts under other names.
"""

from __future__ import annotations

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
from service.routes.compat import prompts, sampling
from service.routes.compat.dialects import error_info
from service.routes.compat.generation_models import GenerationFields
from service.routes.hashed_blocks import FIELD, hashes_of
from service.routes.json_route import Handler, Negotiate
from service.routes.texts import Array, Ids
from service.schemas.fields import Object
from service.state import State

_OVERLAID = ("add_generation_prompt", "continue_final_message")
"""Variables of the template that the request's own fields set, in vLLM also where these are left out."""

_GAP = b"\0"

_UNHONOURED = ("required_prefix_token_ids", "prefix_ids", "new_from", "prompt_embeds")
"""Fields that would change the ids, and that these routes do not take."""


def dialect(problem: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
    """Say a problem as vLLM does on the render routes: whatever is wrong with a body has one type."""
    status, info = error_info(problem)
    return status, {"error": info | ({"type": "BadRequestError"} if status == 400 else {})}


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
    prompts.refuse_fields(body, _UNHONOURED)


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
    params = sampling.params_of(loaded, body) | {
        "max_tokens": most,
        "output_kind": 1 if body.stream else 2,
        "skip_clone": True,
    }
    if (logprobs := body.logprobs_wanted()) is not None:
        params["logprobs"] = logprobs
    params |= sampling.constraints(body)
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
        "stream_options": sampling.copied(body, "stream_options"),
        "cache_salt": body.cache_salt,
        "priority": body.priority or 0,
        "kv_transfer_params": sampling.copied(body, "kv_transfer_params"),
        "ec_transfer_params": sampling.copied(body, "ec_transfer_params"),
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
    params = sampling.params_of(loaded, body) | {"max_new_tokens": most}
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
