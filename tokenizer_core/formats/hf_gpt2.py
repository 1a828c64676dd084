"""Read ``vocab.json`` and ``merges.txt`` without a ``tokenizer.json``: GPT-2's layout alone, and nothing is guessed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from tokenizer_core.config import AddedToken, Settings, TokenizerParts
from tokenizer_core.errors import InvalidArtifact, Unsupported
from tokenizer_core.formats import files, vocab_merges
from tokenizer_core.formats.fields import Fields, identifier
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
from tokenizer_core.formats.hf_settings import read_settings

BY_MODEL = dict.fromkeys(("gpt2", "gpt_bigcode", "gpt_neo", "gptj", "opt"), "GPT2")
"""The class by ``model_type``, as ``AutoTokenizer`` has it."""


def parse(vocab: bytes, merges: bytes, beside: Mapping[str, bytes]) -> TokenizerParts:
    """Read both files; the files beside them name the added tokens.

    Raises:
        InvalidArtifact, Unsupported: also a class of tokenizer that would add stages of its own.
    """
    config = load(beside, CONFIG)
    kind = config.optional("tokenizer_class", str)
    if kind not in (None, "GPT2Tokenizer", "GPT2TokenizerFast"):
        raise Unsupported(
            f"without a tokenizer.json only GPT2Tokenizer is supported, not {kind[:80]!r}; save one with transformers",
            field=config.at("tokenizer_class"),
        )
    added = _added_tokens(vocab, beside)
    parts = vocab_merges.parse(vocab, merges, pattern="gpt2", added=added)
    pipeline = dataclasses.replace(parts.config, prefix_space=config.take("add_prefix_space", bool, False))
    return dataclasses.replace(parts, config=pipeline, settings=read_settings(beside, pipeline, Settings()))


def _added_tokens(vocab: bytes, beside: Mapping[str, bytes]) -> tuple[AddedToken, ...]:
    """Collect the added tokens: those with all their flags, those with only an id, then those that have a role."""
    config, tokens_map = load(beside, CONFIG), load(beside, TOKENS_MAP)
    tokens: dict[str, AddedToken] = {}
    for token, _ in take_decoder(config):
        tokens[token.content] = token
    named = _named(config) + _named(tokens_map)
    special = {literal for literal, _ in named}
    listed = load(beside, ADDED)
    for literal, value in listed.rest().items():
        id = identifier(value, listed.at(literal[:80]))
        tokens.setdefault(literal, AddedToken(id=id, content=literal, special=literal in special))
    entries = files.parse_json(vocab, "vocab.json") if special - tokens.keys() else {}
    for literal, place in named:
        if literal in tokens:
            continue
        if not isinstance(entries, dict) or literal not in entries:
            raise InvalidArtifact(f"{literal[:80]!r} is not in vocab.json", field=place)
        id = identifier(entries[literal], f"vocab.json.{literal[:80]}")
        tokens[literal] = AddedToken(id=id, content=literal, special=True)
    return tuple(tokens.values())


def _named(fields: Fields) -> list[tuple[str, str]]:
    """Return every literal that has a role, and the place that names it."""
    keys = [*(f"{role}_token" for role in ROLES), *OTHER_ROLES]
    found = [(take_literal(fields, key), fields.at(key)) for key in keys]
    listed = [item for key in LISTS for item in take_listed(fields, key)]
    return [(literal, place) for literal, place in found if literal is not None] + listed
