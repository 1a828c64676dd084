"""The common parts of the render routes: the fields of a generation, and the answer that an engine takes.

vLLM calls the answer ``GenerateRequest``; sglang-renderer has the same facts under other names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import uuid4

import orjson
from fastapi import FastAPI
from pydantic import BaseModel

from service.errors import Dialect, ServiceError
from service.http.fast_path import FastAnswers
from service.http.json_body import parser
from service.http.response_json import Answer, Block, Blocks, WrittenIds
from service.registry.engines import Engines
from service.registry.served import ServedTokenizer
from service.request_log import Headers, Trace
from service.routes.compat import prompts, sampling, vllm
from service.routes.compat.dialects import error_info
from service.routes.compat.generation_models import GenerateRequest, GenerationFields
from service.routes.hashed_blocks import FIELD, hashes_of
from service.routes.json_route import Handler, post
from service.routes.since import count_kept, new_of
from service.routes.texts import Array, Ids
from service.schemas.fields import under_limits
from service.state import ServerState
from tokenizer_core import EncodedChat

_GAP = b"\0"

_DEFAULT_TOKENS = 16
"""vLLM's own number of tokens, which it does not write."""

_SALT_BYTES = 128

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


def prompt_of(body: GenerationFields, encoded: EncodedChat) -> Prompt:
    """Return the prompt that a chat is, with the spans of its ids if they are asked for."""
    return Prompt(encoded.ids, encoded.spans if body.return_token_offsets else None)


def sent_id(headers: Headers) -> str:
    """Return the id of a request that its header names; empty if none does."""
    return next((value.decode("latin-1") for name, value in headers if name == b"x-request-id"), "")


def id_of(sent: str, body: GenerationFields) -> str:
    """Return the id of a request: that of the header ``X-Request-Id``, or the body's, or a new one."""
    return sent or body.request_id or uuid4().hex


def declare(
    app: FastAPI,
    state: ServerState,
    path: str,
    render: Callable[..., Answer],
    model: type[GenerationFields],
    answer: type[BaseModel] = GenerateRequest,
    *,
    dialect: Dialect = dialect,
    plain: FastAnswers | None = None,
) -> None:
    """Declare a route whose ``render`` also takes the id of its request."""
    model = under_limits(model, state.settings)
    parse = parser(model)

    def negotiate(headers: Headers) -> Handler:
        given = sent_id(headers)
        answers = None if plain is None else plain.for_request(headers)
        return Handler(parse, lambda body: render(state.current.state, body, id_of(given, body)), plain=answers)

    ways: Any = {"dialect": dialect, "responses": vllm.RESPONSES, "plain": plain, "negotiate": negotiate}
    post(app, state, path, render, model, answer, **ways)


def refuse_unhonoured(body: GenerationFields) -> None:
    """Refuse what changes the ids and is not taken here.

    Errors:
        ``invalid_option``
    """
    if body.use_beam_search:
        raise ServiceError("invalid_option", "Beam search is not supported by the render endpoint", "use_beam_search")
    prompts.refuse_template(body.chat_template)
    prompts.refuse_fields(body, _UNHONOURED)
    salt = body.cache_salt or ""
    if len(salt) > _SALT_BYTES or any(letter in salt for letter in "@/\\\0"):
        raise ServiceError(
            "invalid_value", f"a salt has no @, / or \\, and at most {_SALT_BYTES} letters", "cache_salt"
        )
    if body.stream_options and not body.stream:
        raise ServiceError("invalid_option", "this goes with stream; set that, or leave this out", "stream_options")
    if body.stream and body.prompt_logprobs:
        raise ServiceError("invalid_option", "these do not go with stream; leave one out", "prompt_logprobs")


def answer(
    state: ServerState,
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
    if body.since is not None and len(found) > 1:
        raise ServiceError("invalid_option", "this goes with one prompt", "since")
    blocks, total = Blocks(), 0
    write = _sglang if state.engines.render(body.model, loaded.name) == "sglang" else _vllm
    length = state.engines.length(body.model, loaded)
    blocks.add(b"[" if is_list else b"")
    for at, prompt in enumerate(found):
        prompt = _cut(body, prompt, length)
        total += len(prompt.ids)
        blocks.add(b"," if at else b"")
        most = _max_tokens(length - len(prompt.ids), _wanted(loaded, body, length))
        if not max(1, body.min_tokens or 0) <= most:
            raise ServiceError("invalid_value", f"this leaves {most} tokens; ask for fewer", "min_tokens")
        write(blocks, loaded, body, prompt, f"{request_id}-{at}" if len(found) > 1 else request_id, most)
    blocks.add(b"]" if is_list else b"")
    return Answer(blocks.finish(), total, loaded.hash, headers=state.engines.headers(body.model, loaded))


class Frame(NamedTuple):
    """An answer about one prompt without the id of the request, the ids, and the number of tokens that are left.

    Attributes:
        parts: what stands before, between and behind these three.
        wanted: how many tokens are to be made at most, if that is said.
        least: how many at least.
        length: how many ids the model takes.
    """

    parts: tuple[bytes, bytes, bytes, bytes]
    wanted: int | None
    least: int
    length: int
    headers: Trace

    def fill(self, loaded: ServedTokenizer, request_id: str, ids: Block, count: int) -> Answer | None:
        """Return the answer about a prompt of so many ids, unless it has another form."""
        before, behind_id, behind_ids, behind = self.parts
        left = _max_tokens(self.length - count, self.wanted)
        if count == 0 or left < self.least or left == _DEFAULT_TOKENS:
            return None
        first, last = b"".join((before, orjson.dumps(request_id), behind_id)), b"%b%d%b" % (behind_ids, left, behind)
        # Many ids stay in the array that they lie in.
        blocks: list[Block] = [first + ids + last] if isinstance(ids, bytes) else [first, ids, last]
        return Answer(blocks, count, loaded.hash, headers=self.headers)


def frame(engines: Engines, loaded: ServedTokenizer, body: GenerationFields) -> Frame:
    """Return what is the same for all prompts that come with equal fields.

    Errors:
        ``invalid_option``, ``invalid_value``
    """
    refuse_unhonoured(body)
    blocks = Blocks()
    write = _sglang if engines.render(body.model, loaded.name) == "sglang" else _vllm
    # Bytes that JSON cannot hold mark the places of what is filled in.
    gap = orjson.Fragment(_GAP)
    write(blocks, loaded, body, Prompt(WrittenIds(_GAP, 0)), gap, gap)
    before, behind_id, behind_ids, behind = b"".join(map(bytes, blocks.finish())).split(_GAP)
    parts = before, behind_id, behind_ids, behind
    length = engines.length(body.model, loaded)
    wanted, least = _wanted(loaded, body, length), max(1, body.min_tokens or 0)
    return Frame(parts, wanted, least, length, engines.headers(body.model, loaded))


def _cut(body: GenerationFields, prompt: Prompt, most: int) -> Prompt:
    """Truncate a prompt as asked, and refuse what no model takes."""
    kept = body.truncate_prompt_tokens
    if kept is not None:
        if kept > most:
            raise ServiceError(
                "invalid_option",
                f"{kept} is more than the model's maximum context length ({most})",
                "truncate_prompt_tokens",
            )
        size = len(prompt.ids)
        # One token is left for an answer, if some are asked for.
        keep = min(size, most - bool(body.most_tokens()) if kept == -1 else kept)
        # vLLM sets the side of its tokenizer, whatever the model says.
        part = slice(keep) if body.truncation_side == "right" else slice(size - keep, None)
        assert not isinstance(prompt.ids, WrittenIds)
        prompt = Prompt(prompt.ids[part], None if prompt.spans is None else prompt.spans[part])
    if len(prompt.ids) == 0:
        raise ServiceError("invalid_option", "No token_ids rendered")
    if len(prompt.ids) > most:
        raise ServiceError(
            "invalid_option", f"Input length ({len(prompt.ids)}) exceeds model's maximum context length ({most})."
        )
    return prompt


def _wanted(loaded: ServedTokenizer, body: GenerationFields, length: int) -> int | None:
    wanted = body.most_tokens()
    if wanted is not None and wanted > length:
        raise ServiceError("invalid_value", f"{wanted} is more than the model's length ({length})", "max_tokens")
    return loaded.generation.get("max_new_tokens") if wanted is None else wanted


def _max_tokens(left: int, wanted: int | None) -> int:
    return left if wanted is None else min(left, wanted)


def _hashed(body: GenerationFields, prompt: Prompt) -> dict[str, Any]:
    if body.block_hashes is None:
        return {}
    assert not isinstance(prompt.ids, WrittenIds)
    return {FIELD: hashes_of(body.block_hashes, prompt.ids, count_kept(body.since, prompt.ids))}


def _add_ids(blocks: Blocks, body: GenerationFields, prompt: Prompt) -> None:
    """Write the ids; for a caller who has some of them null, and fields with those that are new."""
    if body.since is None or isinstance(prompt.ids, WrittenIds):
        blocks.add_json(prompt.ids)
        return
    blocks.add(b"null")
    for name, value in new_of(body.since, prompt.ids).items():
        blocks.add(b',"%b":' % name.encode())
        blocks.add_json(value)


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
    params = sampling.params_of(loaded, body)
    params |= sampling.of_vllm(body, params)
    params |= {"output_kind": 1 if body.stream else 2, "skip_clone": True}
    if most != _DEFAULT_TOKENS:
        params["max_tokens"] = most
    if (logprobs := body.logprobs_wanted()) is not None:
        params["logprobs"] = logprobs
    blocks.add(orjson.dumps({"request_id": request_id})[:-1] + b',"token_ids":')
    _add_ids(blocks, body, prompt)
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
        "stream_options": sampling.copied(body, "stream_options") if body.stream else None,
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
    del params["bad_words"]
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
    _add_ids(blocks, body, prompt)
    blocks.add(b"," + orjson.dumps(rest)[1:])
