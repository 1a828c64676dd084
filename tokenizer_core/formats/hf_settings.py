"""What lies beside a ``tokenizer.json``: roles of special tokens, sides, lengths and chat templates.

``tokenizer_config.json`` and ``special_tokens_map.json`` say many things twice, and a template can stand in two places.
Where two places differ, neither is guessed to be right. Keys that are not understood change no id; they are kept for
the export.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tokenizer_core.config import PipelineConfig, Settings, Side
from tokenizer_core.errors import InvalidArtifact
from tokenizer_core.formats import files
from tokenizer_core.formats.added import FLAGS, read_added_token
from tokenizer_core.formats.fields import Fields, identifier

CONFIG, TOKENS_MAP, TEMPLATE = "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja"
ROLES = ("bos", "eos", "pad", "unk")
OTHER_ROLES = ("sep_token", "cls_token", "mask_token")
LISTS = ("additional_special_tokens", "extra_special_tokens")
_SIDES: dict[str, Side] = {"left": "left", "right": "right"}
_NO_LENGTH = 10**15
"""transformers writes ``int(1e30)`` for "no limit"; nothing this long was ever meant."""


@dataclass(frozen=True, slots=True)
class Roles:
    """What GPT-2's layout needs to know before its vocabulary is read."""

    tokenizer_class: str | None
    add_prefix_space: bool
    literals: Mapping[str, str]
    """Every literal that is named as special, and the place that names it."""


def special_literals(beside: Mapping[str, bytes]) -> Roles:
    """Collect the special literals of a directory without ``tokenizer.json``."""
    config, tokens_map = _load(beside, CONFIG), _load(beside, TOKENS_MAP)
    literals: dict[str, str] = {}
    for fields in (config, tokens_map):
        for key in (*(f"{role}_token" for role in ROLES), *OTHER_ROLES):
            literal = _literal(fields, key)
            if literal is not None:
                literals.setdefault(literal, fields.at(key))
        for key in LISTS:
            literals |= {literal: place for literal, place in _listed(fields, key) if literal not in literals}
    return Roles(config.optional("tokenizer_class", str), config.take("add_prefix_space", bool, False), literals)


def read_settings(beside: Mapping[str, bytes], config: PipelineConfig, defaults: Settings) -> Settings:
    """Read everything beside the tokenizer; ``defaults`` is what the tokenizer itself says.

    Raises:
        InvalidArtifact: also where two places contradict each other.
    """
    fields, tokens_map = _load(beside, CONFIG), _load(beside, TOKENS_MAP)
    known = {token.content: token.id for token in config.added_tokens}
    roles = {role: _role(f"{role}_token", fields, tokens_map, known) for role in ROLES}
    extra: dict[str, Any] = {}
    for key in OTHER_ROLES:
        if (literal := _role(key, fields, tokens_map, known)) is not None:
            extra[key] = literal
    for key in LISTS:
        listed = dict(_listed(fields, key) + _listed(tokens_map, key))
        for literal, place in listed.items():
            _check_known(literal, place, known)
        if listed:
            extra[key] = list(listed)
    tokens_map.finish()
    _check_decoder(fields, config)
    _check_prefix_space(fields, config)
    template, named = _templates(beside, fields)
    settings = dataclasses.replace(
        defaults,
        bos=roles["bos"],
        eos=roles["eos"],
        pad=roles["pad"] or defaults.pad,
        unk=roles["unk"] or defaults.unk,
        chat_template=template,
        named_templates=named,
    )
    if fields.has("padding_side"):
        settings = dataclasses.replace(settings, padding_side=fields.choice("padding_side", _SIDES))
    if fields.has("truncation_side"):
        settings = dataclasses.replace(settings, truncation_side=fields.choice("truncation_side", _SIDES))
    if fields.has("model_max_length"):
        settings = dataclasses.replace(settings, model_max_length=_length(fields))
    extra |= fields.rest()
    kept = ((key, json.dumps(extra[key], sort_keys=True, ensure_ascii=False)) for key in sorted(extra))
    return dataclasses.replace(settings, extra=tuple(kept))


def _load(beside: Mapping[str, bytes], name: str) -> Fields:
    return Fields(files.parse_json(beside[name], name) if name in beside else {}, name)


def _literal(fields: Fields, key: str) -> str | None:
    """Take a token that is written as its literal, or as an object with its flags."""
    value = fields.any(key)
    if value is None or isinstance(value, str):
        return value
    token = Fields(value, fields.at(key))
    token.optional("__type", str)
    literal = token.take("content", str)
    for flag in FLAGS:
        token.take(flag, bool, False)
    token.finish()
    return literal


def _listed(fields: Fields, key: str) -> list[tuple[str, str]]:
    if not fields.has(key):
        fields.any(key)
        return []
    value = fields.any(key)
    if isinstance(value, dict):
        # Names for further tokens, such as {"image_token": "<image>"}.
        items = [(value[name], f"{fields.at(key)}.{name[:80]}") for name in value]
    elif isinstance(value, list):
        items = [(item, f"{fields.at(key)}[{index}]") for index, item in enumerate(value)]
    else:
        raise InvalidArtifact(f"{fields.at(key)} must be a list", field=fields.at(key))
    found = []
    for item, place in items:
        literal = _literal(Fields({"token": item}, place), "token")
        if literal is None:
            raise InvalidArtifact(f"{place} must be a token", field=place)
        found.append((literal, place))
    return found


def _role(key: str, config: Fields, tokens_map: Fields, known: Mapping[str, int]) -> str | None:
    first, second = _literal(config, key), _literal(tokens_map, key)
    if first is not None and second is not None and first != second:
        raise InvalidArtifact(
            f"{key} is {first[:80]!r} in {CONFIG} and {second[:80]!r} in {TOKENS_MAP}; make them equal",
            field=config.at(key),
        )
    literal = second if first is None else first
    if literal is not None:
        _check_known(literal, config.at(key) if first is not None else tokens_map.at(key), known)
    return literal


def _check_known(literal: str, place: str, known: Mapping[str, int]) -> None:
    if literal not in known:
        raise InvalidArtifact(
            f"{place} names {literal[:80]!r}, which is not among the added tokens of tokenizer.json; add it there",
            field=place,
        )


def _check_decoder(fields: Fields, config: PipelineConfig) -> None:
    """Hold the list of added tokens that transformers keeps against the one of ``tokenizer.json``."""
    if not fields.has("added_tokens_decoder"):
        return
    known = {token.id: token for token in config.added_tokens}
    table = Fields(fields.take("added_tokens_decoder", dict), fields.at("added_tokens_decoder"))
    for key, value in table.rest().items():
        place = table.at(key[:80])
        id = identifier(int(key) if key.isascii() and key.isdigit() and len(key) < 12 else None, place)
        token = read_added_token(value, place, id=id)
        if known.get(id) != token:
            raise InvalidArtifact(
                f"{place} is not the added token that tokenizer.json has under this id; save the tokenizer again",
                code="id_conflict",
                field=place,
            )


def _check_prefix_space(fields: Fields, config: PipelineConfig) -> None:
    if fields.has("add_prefix_space") and fields.take("add_prefix_space", bool) != config.prefix_space:
        raise InvalidArtifact(
            f"add_prefix_space contradicts the ByteLevel of tokenizer.json, where it is {config.prefix_space}",
            field=fields.at("add_prefix_space"),
        )
    fields.any("add_prefix_space")


def _length(fields: Fields) -> int | None:
    value = fields.any("model_max_length")
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0 or value != int(value):
        raise InvalidArtifact("model_max_length must be a length", field=fields.at("model_max_length"))
    return None if value >= _NO_LENGTH else int(value)


def _templates(beside: Mapping[str, bytes], fields: Fields) -> tuple[str | None, tuple[tuple[str, str], ...]]:
    value, place = fields.any("chat_template"), fields.at("chat_template")
    named: dict[str, str] = {}
    if isinstance(value, str):
        named["default"] = value
    elif value is not None:
        items = Fields({"list": value}, place).items("list")
        for item, _ in items:
            entry = Fields(item, place)
            name = entry.take("name", str)
            if name in named:
                raise InvalidArtifact(f"{place} has two templates named {name[:80]!r}", field=place)
            named[name] = entry.take("template", str)
            entry.finish()
    for file, data in beside.items():
        if not file.endswith(".jinja"):
            continue
        name = "default" if file == TEMPLATE else file.rpartition("/")[2].removesuffix(".jinja")
        text = _text(data, file)
        if named.setdefault(name, text) != text:
            raise InvalidArtifact(
                f"{file} and chat_template of {CONFIG} are different templates; remove one of them", field=file
            )
    template = named.pop("default", None)
    return template, tuple(sorted(named.items()))


def _text(data: bytes, file: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidArtifact(f"{file} is not UTF-8 from byte {error.start} on", field=file) from None
