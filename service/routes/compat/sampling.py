"""Parameters of sampling by vLLM's names, from the fields of a request and the model's own defaults."""

from __future__ import annotations

import json
from typing import Any

import orjson

from service.errors import ServiceError, quote
from service.registry.served import ServedTokenizer
from service.routes.compat.generation_models import GenerationFields
from service.routes.compat.parts import kind_of, object_of
from service.schemas.fields import Object

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
    *("spaces_between_special_tokens", "prompt_logprobs", "allowed_token_ids"),
)

_MOST_BIAS = 100.0
"""What vLLM cuts the biases of tokens to."""


def params_of(loaded: ServedTokenizer, body: GenerationFields) -> dict[str, Any]:
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
    if body.logit_bias is not None:
        params["logit_bias"] = {id: max(-_MOST_BIAS, min(bias, _MOST_BIAS)) for id, bias in body.logit_bias.items()}
    if params.get("seed") == -1:
        del params["seed"]
    if params["temperature"] == 0:
        params |= _GREEDY
    return params


def constraints(body: GenerationFields) -> dict[str, Any]:
    """Return what vLLM alone has: the form of the output, and what is for its plugins.

    Errors:
        ``invalid_option``: an unknown form; ``invalid_type``, ``missing_field``
    """
    found: dict[str, Any] = {}
    outputs = {**(body.structured_outputs or {}), **_form(body.response_format)}
    if outputs:
        found["structured_outputs"] = _written(outputs, "structured_outputs")
    if body.thinking_token_budget is not None:
        found["thinking_token_budget"] = body.thinking_token_budget
    if body.vllm_xargs:
        found["extra_args"] = copied(body, "vllm_xargs")
    return found


def _form(wanted: Object | None) -> Object:
    """Return OpenAI's ``response_format`` as a constraint of vLLM."""
    if wanted is None:
        return {}
    place = "response_format"
    kind = kind_of(wanted, place)
    if kind == "json_schema":
        schema = object_of(wanted.get("json_schema"), f"{place}.json_schema")
        return {"json": object_of(schema.get("schema"), f"{place}.json_schema.schema")}
    if kind == "structural_tag":
        return {"structural_tag": json.dumps(wanted)}
    if kind not in ("text", "json_object"):
        raise ServiceError(
            "invalid_option",
            f"{quote(kind)} is none of text, json_object, json_schema, structural_tag",
            f"{place}.type",
        )
    return {"json_object": True} if kind == "json_object" else {}


def copied(body: GenerationFields, name: str) -> orjson.Fragment | None:
    """Return an object of the caller's as JSON, with every number as it was sent.

    Errors:
        ``invalid_value``: a number is beyond what a reader of JSON takes.
    """
    value = getattr(body, name)
    return None if value is None else _written(value, name)


def _written(value: Any, name: str) -> orjson.Fragment:
    try:
        # Not orjson, which refuses whole numbers of more than 64 bits and writes null for a number that is too large.
        return orjson.Fragment(json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")))
    except ValueError:
        raise ServiceError("invalid_value", "a number in it is too large", name) from None
