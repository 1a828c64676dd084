"""Parameters of sampling as vLLM 0.32 writes them, from the fields of a request and the model's own defaults."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import orjson
from pydantic import BaseModel

from service.errors import ServiceError, quote
from service.registry.served import ServedTokenizer
from service.routes.compat.body_objects import kind_of, object_of
from service.routes.compat.generation_models import GenerationFields
from service.schemas.fields import Object


class _Range(NamedTuple):
    least: float
    most: float
    has_least: bool = True


_REALS: dict[str, tuple[float, _Range]] = {
    "presence_penalty": (0.0, _Range(-2, 2)),
    "frequency_penalty": (0.0, _Range(-2, 2)),
    "repetition_penalty": (1.0, _Range(0, float("inf"), has_least=False)),
    "temperature": (1.0, _Range(0, 2)),
    "top_p": (1.0, _Range(0, 1, has_least=False)),
    "min_p": (0.0, _Range(0, 1)),
}
"""Numbers that are always written: their defaults, and what they may be."""

_INTEGERS: dict[str, tuple[int | None, float, float]] = {
    "n": (1, 1, 16_384),
    "top_k": (0, -1, float("inf")),
    "min_tokens": (0, 0, float("inf")),
    "prompt_logprobs": (None, -1, float("inf")),
    "thinking_token_budget": (None, -1, float("inf")),
}
"""Their defaults, and the least and the most that they may be."""

_LISTS = ("stop", "stop_token_ids", "bad_words")
_UNLESS_DEFAULT: dict[str, Any] = {
    "seed": -1,
    "ignore_eos": False,
    "include_stop_str_in_output": False,
    "skip_special_tokens": True,
    "spaces_between_special_tokens": True,
    "thinking_token_budget": -1,
    "prompt_logprobs": None,
    "allowed_token_ids": None,
    **{name: default for name, (default, *_) in _INTEGERS.items() if default is not None},
}
"""The fields that are written unless they have these values, which say nothing."""

_NOT_GREEDY = ("top_p", "top_k", "min_p")
"""The fields that vLLM resets where the temperature is 0, and so does not write."""

_LEAST_TEMPERATURE = 0.01
_OF_THE_MODEL = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty")
"""The fields that a model's ``generation_config.json`` gives where the caller does not."""

_MOST_BIAS = 100.0
"""The bound to which vLLM cuts the biases of tokens."""

_CONSTRAINTS = ("json", "regex", "choice", "grammar", "json_object", "structural_tag")
_OUTPUTS: dict[str, Any] = {
    **dict.fromkeys(_CONSTRAINTS[:5]),
    "disable_any_whitespace": False,
    "disable_additional_properties": False,
    "whitespace_pattern": None,
    "structural_tag": None,
    "_backend": None,
    "_backend_was_auto": False,
}
"""All members of a form of outputs, in vLLM's order."""


def params_of(loaded: ServedTokenizer, body: GenerationFields) -> dict[str, Any]:
    """Return the parameters of sampling that both engines share, by vLLM's names; what says nothing is left out.

    Errors:
        ``invalid_value``: one that vLLM refuses.
    """
    params: dict[str, Any] = {}
    for name in (*_REALS, *_INTEGERS):
        value = getattr(body, name)
        if value is None and name in _OF_THE_MODEL:
            value = loaded.generation.get(name)
        if name in _REALS:
            default, bounds = _REALS[name]
            params[name] = _within(name, default if value is None else float(value), bounds)
        elif value is not None:
            default_of, least, most = _INTEGERS[name]
            _within(name, value, _Range(least, most))
            if value != default_of:
                params[name] = value
    if 0 < params["temperature"] < _LEAST_TEMPERATURE:
        params["temperature"] = _LEAST_TEMPERATURE
    for name in _LISTS:
        params[name] = _texts(name, getattr(body, name))
    if own := loaded.generation.get("stop_token_ids"):
        params["stop_token_ids"] = list(dict.fromkeys([*params["stop_token_ids"], *own]))
    for name, default in _UNLESS_DEFAULT.items():
        if (value := getattr(body, name)) is not None:
            params |= {name: value}
            if value == default:
                del params[name]
    if body.logit_bias is not None:
        params["logit_bias"] = {id: max(-_MOST_BIAS, min(bias, _MOST_BIAS)) for id, bias in body.logit_bias.items()}
    if params["temperature"] == 0:
        if params.get("n", 1) > 1:
            raise ServiceError("invalid_value", "one answer goes with a temperature of 0", "n")
        params = {name: value for name, value in params.items() if name not in _NOT_GREEDY}
    return params


def of_vllm(body: GenerationFields, params: dict[str, Any]) -> dict[str, Any]:
    """Return what vLLM alone has: what follows from parameters, the form of the output, and what is for its plugins.

    Errors:
        ``invalid_option``: an unknown form; ``invalid_type``, ``missing_field``
    """
    found: dict[str, Any] = {"skip_reading_prefix_cache": "prompt_logprobs" in params}
    if params["stop"] and not body.include_stop_str_in_output:
        longest = max(map(len, params["stop"]))
        found |= {"output_text_buffer_length": longest - 1} if longest > 1 else {}
    if (outputs := _outputs(body)) is not None:
        found["structured_outputs"] = _written(outputs, "structured_outputs")
    extra = dict(body.vllm_xargs or {})
    for name in ("kv_transfer_params", "ec_transfer_params"):
        extra |= {name: value} if (value := getattr(body, name)) else {}
    if extra or body.WRITES_EXTRA:
        found["extra_args"] = _written(extra, "vllm_xargs")
    return found


def _within(name: str, value: Any, bounds: _Range) -> Any:
    if not bounds.least <= value <= bounds.most or (value == bounds.least and not bounds.has_least):
        above = "at least" if bounds.has_least else "more than"
        most = "" if bounds.most == float("inf") else f" and at most {bounds.most:g}"
        raise ServiceError("invalid_value", f"this is {above} {bounds.least:g}{most}", name)
    return value


def _texts(name: str, given: Any) -> list[Any]:
    """Return a list, each of it once; no text is empty."""
    values = [given] if isinstance(given, str) else list(given or ())
    if "" in values:
        raise ServiceError("invalid_value", "no text in it is empty", name)
    return values if name == "stop" else list(dict.fromkeys(values))


def _outputs(body: GenerationFields) -> Object | None:
    """Return the form of outputs with all its members, of which one says what it is."""
    given, form = body.structured_outputs, _form(body.response_format)
    if given is None and not form:
        return None
    outputs = {**(given or {}), **form}
    named = [name for name in _CONSTRAINTS if outputs.get(name) is not None]
    own = [name for name in _CONSTRAINTS if (given or {}).get(name) is not None]
    if len(named) != 1 or (given is not None and len(own) != 1):
        which = " or ".join(_CONSTRAINTS)
        raise ServiceError("invalid_option", f"say one of {which}, not {len(named)}", "structured_outputs")
    return {name: outputs.get(name, default) for name, default in _OUTPUTS.items()}


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


def copied(body: BaseModel, name: str) -> orjson.Fragment | None:
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
