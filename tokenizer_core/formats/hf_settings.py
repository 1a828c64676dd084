"""Read the files beside a ``tokenizer.json``: roles of special tokens, sides, lengths and chat templates.

``tokenizer_config.json`` and ``special_tokens_map.json`` say many things twice, and a template can stand in two places.
Where two places differ, neither is guessed to be right. Keys that are not understood change no id; they are kept for
the export.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizer_core.config import MODEL_LENGTH, PipelineConfig, Settings, Side
from tokenizer_core.errors import InvalidArtifact, Unsupported
from tokenizer_core.formats.fields import Fields
from tokenizer_core.formats.hf_configs import MODEL_CONFIG, is_bert, model_length, name_of_class, read_generation
from tokenizer_core.formats.hf_roles import (
    ADDED,
    CONFIG,
    LISTS,
    OTHER_ROLES,
    ROLES,
    TOKENS_MAP,
    load,
    take_decoder,
    take_listed,
    take_literal,
)
from tokenizer_core.formats.side_files import PROCESSOR_TEMPLATE, TEMPLATE, read_beside
from tokenizer_core.stages import Pretokenizer

_SIDES: dict[str, Side] = {"left": "left", "right": "right"}
_NO_LENGTH = 10**15
"""transformers writes ``int(1e30)`` for "no limit"; nothing this long was ever meant."""

_CLEAR_PREFIX = (
    *("GPT2", "Roberta", "Bart", "Longformer", "LED", "Deberta", "CodeGen", "GPTNeoX", "Mvp", "Qwen2"),
    "Cohere",
)
"""Classes of transformers that put no space before a text unless ``add_prefix_space`` says so, whatever
``tokenizer.json`` does."""


def read_settings(beside: Mapping[str, bytes], config: PipelineConfig, defaults: Settings) -> Settings:
    """Read everything beside the tokenizer; ``defaults`` is what the tokenizer itself says.

    Raises:
        InvalidArtifact: also where two places contradict each other.
    """
    fields, tokens_map = load(beside, CONFIG), load(beside, TOKENS_MAP)
    known = {token.content: token.id for token in config.added_tokens}
    roles = {role: _role(f"{role}_token", fields, tokens_map, known) for role in ROLES}
    extra: dict[str, Any] = {}
    for key in OTHER_ROLES:
        if (literal := _role(key, fields, tokens_map, known)) is not None:
            extra[key] = literal
    for key in LISTS:
        value = fields.peek(key) or tokens_map.peek(key)
        for token, place in take_listed(fields, key) + take_listed(tokens_map, key):
            _check_known(token.content, place, known)
        if value:
            extra[key] = value
    # Further tokens that templates know by name.
    for key in tokens_map.keys_ending("_token"):
        if (literal := _role(key, fields, tokens_map, known)) is not None:
            extra[key] = literal
    tokens_map.finish()
    _check_decoder(fields, config)
    _check_added_tokens_json(load(beside, ADDED), known)
    _check_prefix_space(fields, config)
    _check_bert(fields, config)
    _check_clean_up(fields, config)
    named = roles | {role: extra.get(f"{role}_token") for role in ("cls", "sep")}
    _check_frame(fields, config, {role: known[literal] for role, literal in named.items() if literal is not None})
    template, templates = _templates(beside, fields)
    given: dict[str, Any] = {"generation": read_generation(beside)}
    given |= {side: fields.choice(side, _SIDES) for side in ("padding_side", "truncation_side") if fields.has(side)}
    if fields.has("model_max_length"):
        given["model_max_length"] = _length(fields)
    extra |= fields.rest()
    if (length := model_length(load(beside, MODEL_CONFIG).rest())) is not None:
        extra[MODEL_LENGTH] = length
    return dataclasses.replace(
        defaults,
        bos=roles["bos"],
        eos=roles["eos"],
        pad=roles["pad"] or defaults.pad,
        unk=roles["unk"] or defaults.unk,
        chat_template=template,
        named_templates=templates,
        extra=_kept(extra),
        **given,
    )


def _kept(extra: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((key, json.dumps(extra[key], sort_keys=True, ensure_ascii=False)) for key in sorted(extra))


def templates_in(directory: Path) -> tuple[dict[str, bytes], Settings]:
    """Read what changes no id in a directory whose tokenizer file has another layout: the templates of chats.

    Returns:
        The files that were read, by name; and settings with the templates, also of responses, and what engines sample
        with.
    """
    beside = read_beside(directory)
    found = {name: data for name, data in beside.items() if name not in (TOKENS_MAP, ADDED)}
    fields = load(found, CONFIG)
    template, named = _templates(found, fields)
    responses = {key: fields.peek(key) for key in ("response_template",) if fields.has(key)}
    generation = read_generation(found)
    settings = Settings(chat_template=template, named_templates=named, generation=generation, extra=_kept(responses))
    return found, settings


def _role(key: str, config: Fields, tokens_map: Fields, known: Mapping[str, int]) -> str | None:
    first, second = take_literal(config, key), take_literal(tokens_map, key)
    if first is not None and second is not None and first != second:
        raise InvalidArtifact(
            f"{key} is {first[:80]!r} in {CONFIG} and {second[:80]!r} in {TOKENS_MAP}; make them equal",
            field=config.at(key),
        )
    literal = second if first is None else first
    if literal is not None:
        _check_known(literal, config.at(key) if first is not None else tokens_map.at(key), known)
    # As in transformers, the second file says nothing beside this key of the first.
    return first if config.has("added_tokens_decoder") else literal


def _check_known(literal: str, place: str, known: Mapping[str, int]) -> None:
    if literal not in known:
        raise InvalidArtifact(
            f"{place} names {literal[:80]!r}, which is not an added token of the tokenizer; add it",
            field=place,
        )


def _check_decoder(fields: Fields, config: PipelineConfig) -> None:
    """Check the list of added tokens that transformers keeps against the one of ``tokenizer.json``."""
    known = {token.id: token for token in config.added_tokens}
    for token, place in take_decoder(fields):
        if known.get(token.id) != token:
            raise InvalidArtifact(
                f"{place} is not the added token that tokenizer.json has under this id; save the tokenizer again",
                code="id_conflict",
                field=place,
            )


def _check_prefix_space(fields: Fields, config: PipelineConfig) -> None:
    """Check that a space is put before a text if transformers' setting says so.

    That none is put is said of models beside byte-level BPE too whose stages put one, also by older artifacts.
    """
    puts, is_byte_level = _puts_space(config), config.model.is_byte_bpe
    if fields.has("add_prefix_space"):
        said = fields.take("add_prefix_space", bool)
        if said != puts and (said or is_byte_level):
            raise InvalidArtifact(
                f"add_prefix_space contradicts the tokenizer, which puts {'a' if puts else 'no'} space before a text; "
                "save it again with transformers",
                field=fields.at("add_prefix_space"),
            )
    elif puts and is_byte_level and name_of_class(fields) in _CLEAR_PREFIX:
        raise InvalidArtifact(
            f"{fields.at('add_prefix_space')} is not set, so that transformers puts no space before a text, where "
            "tokenizer.json puts one; say true or false",
            field=fields.at("add_prefix_space"),
        )
    fields.any("add_prefix_space")


def _check_bert(fields: Fields, config: PipelineConfig) -> None:
    """Check what transformers' BERT would write over the normalizer of ``tokenizer.json``."""
    stage = next((stage for stage in config.normalizer if stage.type == "bert"), None)
    if stage is None or not is_bert(fields):
        return
    said = {
        "do_lower_case": stage.lowercase,
        "strip_accents": stage.strip_accents,
        "tokenize_chinese_chars": stage.handle_chinese_chars,
    }
    for key, does in said.items():
        if fields.peek(key) not in (None, does):
            raise InvalidArtifact(
                f"{key} is {json.dumps(fields.peek(key))}, and the normalizer of tokenizer.json says the opposite, "
                "which transformers changes; save the tokenizer again with transformers",
                field=fields.at(key),
            )


def _check_clean_up(fields: Fields, config: PipelineConfig) -> None:
    """Check the flags by which transformers changes decoded text; that of BPE is not followed."""
    key = "clean_up_tokenization_spaces"
    for flag in (key, f"{key}_for_bpe_even_though_it_will_corrupt_output"):
        if not isinstance(value := fields.peek(flag), bool | None):
            raise InvalidArtifact(f"{flag} must be true or false", field=fields.at(flag))
    if fields.peek(key) and value and config.model.type in ("byte_bpe", "char_bpe"):
        raise Unsupported(
            f"{flag} is true, and the text of BPE is decoded as it was; set it to false", field=fields.at(flag)
        )


def _puts_space(config: PipelineConfig) -> bool:
    """Tell whether a space, or what stands for one, is put before a text."""
    if config.model.is_byte_bpe:
        return config.prefix_space
    for stage in (*config.normalizer, *config.pretokenizer):
        match stage.type:
            case "prepend":
                return True
            case "byte_level" if isinstance(stage, Pretokenizer) and stage.prefix_space:
                return True
            case "sentence_piece" if stage.dummy_prefix:
                return True
            case "metaspace" if stage.prepend != "never":
                return True
    return False


def _check_added_tokens_json(fields: Fields, known: Mapping[str, int]) -> None:
    """Check the list of older versions of transformers against the tokens that there are."""
    for literal, id in fields.rest().items():
        if type(id) is not int or known.get(literal) != id:
            place = fields.at(literal[:80])
            raise InvalidArtifact(
                f"{place} is not an added token of the tokenizer, which has others; save it again",
                code="id_conflict",
                field=place,
            )


def _check_frame(fields: Fields, config: PipelineConfig, ids: Mapping[str, int]) -> None:
    """Check what transformers would put around a text against what the post-processor puts."""
    for role, around in (("bos", config.prefix_ids), ("eos", config.suffix_ids)):
        key = f"add_{role}_token"
        asked = fields.peek(key)
        if asked is False and ids.get(role) == ids.get({"bos": "cls", "eos": "sep"}[role]):
            # It stands there in its other role, as in DeBERTa.
            continue
        if asked is not None and asked is not (ids.get(role) in around):
            raise InvalidArtifact(
                f"{key} contradicts the post-processor of tokenizer.json; save the tokenizer again with transformers, "
                "which writes it there",
                field=fields.at(key),
            )


def _length(fields: Fields) -> int | None:
    value = fields.any("model_max_length")
    if type(value) in (int, float) and value >= _NO_LENGTH:
        return None
    if type(value) is not int or value < 0:
        raise InvalidArtifact("model_max_length must be a length", field=fields.at("model_max_length"))
    return value


def _templates(beside: Mapping[str, bytes], fields: Fields) -> tuple[str | None, tuple[tuple[str, str], ...]]:
    value, place = fields.any("chat_template"), fields.at("chat_template")
    if value is None:
        processor = load(beside, PROCESSOR_TEMPLATE)
        value, place = processor.any("chat_template"), processor.at("chat_template")
        processor.finish()
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
