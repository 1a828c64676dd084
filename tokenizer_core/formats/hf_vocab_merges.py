"""``vocab.json`` and ``merges.txt`` without a ``tokenizer.json``: the one that transformers makes of them by the class.

The files say neither stages nor frame nor which special tokens there are: the class does, with what the files beside
them name (``convert_slow_tokenizer.py`` of transformers 4.57, and what each class takes where nothing is named).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tokenizer_core._kernel import Vocabulary
from tokenizer_core.config import AddedToken
from tokenizer_core.errors import InvalidArtifact, Unsupported
from tokenizer_core.formats import files
from tokenizer_core.formats.fields import identifier
from tokenizer_core.formats.hf_roles import (
    ADDED,
    BERT,
    CONFIG,
    LISTS,
    ROBERTA,
    TOKENS_MAP,
    ClassTokens,
    load,
    take_decoder,
    take_named,
    take_roles,
    with_roles,
)
from tokenizer_core.formats.hf_stages import write_byte_level, write_frames
from tokenizer_core.frame import read_frame
from tokenizer_core.patterns import PATTERNS

_WORDS_OF_CLIP = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
_CLIP_TEXT = ({"type": "NFC"}, {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}, {"type": "Lowercase"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Class(ClassTokens):
    """The facts that a class of transformers adds to the files; a role whose literal is no entry is left out.

    Attributes:
        single, pair: frames of roles and texts, with their type ids.
        normalizer: stages before the cut.
        pattern: what cuts the text; ``None`` is GPT-2's, within ByteLevel.
        removes: what the pattern does not match is dropped.
        suffix: what ends the last entry of a word.
    """

    single: str = "A"
    pair: str = "A B:1"
    normalizer: tuple[Mapping[str, Any], ...] = ()
    pattern: str | None = None
    removes: bool = False
    suffix: str = ""


_GPT2 = dict.fromkeys(("bos", "eos", "unk"), "<|endoftext|>")
_LIKE_GPT2 = _Class(roles=_GPT2)
_LIKE_ROBERTA = _Class(roles=ROBERTA, single="cls A sep", pair="cls A sep sep B sep", spaced_mask=True)

_CLASSES = {
    "Bart": _LIKE_ROBERTA,
    "Blenderbot": _Class(roles=ROBERTA, single="A eos", spaced_mask=True),
    "CLIP": _Class(
        roles={"bos": "<|startoftext|>", **dict.fromkeys(("eos", "unk", "pad"), "<|endoftext|>")},
        single="bos A eos",
        pair="bos A eos eos B eos",
        normalized=frozenset({"bos", "eos", "unk"}),
        normalizer=_CLIP_TEXT,
        pattern=_WORDS_OF_CLIP,
        removes=True,
        suffix="</w>",
    ),
    "CodeGen": _LIKE_GPT2,
    "Deberta": _Class(roles=BERT, single="cls A sep", pair="cls A sep B:1 sep:1", spaced_mask=True),
    "GPT2": _LIKE_GPT2,
    "LED": _LIKE_ROBERTA,
    "Longformer": _LIKE_ROBERTA,
    "Mvp": _LIKE_ROBERTA,
    "Qwen2": _Class(
        roles=dict.fromkeys(("eos", "unk", "pad"), "<|endoftext|>"),
        normalizer=({"type": "NFC"},),
        pattern=PATTERNS["qwen2"],
    ),
    "Roberta": _LIKE_ROBERTA,
}
"""By the name of a class, without ``Tokenizer`` and ``Fast``."""

_OF_MODELS = {
    "Bart": ("bart", "plbart"),
    "Blenderbot": ("blenderbot",),
    "CLIP": ("clip", "clipseg", "groupvit", "oneformer", "owlv2", "owlvit"),
    "CodeGen": ("codegen", "phi"),
    "Deberta": ("deberta",),
    "GPT2": ("gpt2", "gpt_bigcode", "gpt_neo", "gptj", "opt"),
    "LED": ("led",),
    "Longformer": ("longformer",),
    "Mvp": ("mvp",),
    "Qwen2": ("qwen2", "qwen2_moe", "qwen2_vl", "qwen2_5_vl", "qwen3", "qwen3_moe"),
    "Roberta": ("data2vec-text", "ibert", "roberta", "roberta-prelayernorm"),
}
BY_MODEL = {model: name for name, models in _OF_MODELS.items() for model in models}
"""The class by ``model_type``, as ``AutoTokenizer`` has it."""


def document(vocab: bytes, merges: bytes, beside: Mapping[str, bytes]) -> tuple[bytes, dict[str, bytes]]:
    """Write the ``tokenizer.json`` of the files, and name the roles of the class in the configuration beside it.

    Raises:
        InvalidArtifact: also a special token that a file names and no entry is.
        Unsupported: also a class that is not known.
    """
    config, tokens_map = load(beside, CONFIG), load(beside, TOKENS_MAP)
    named = config.optional("tokenizer_class", str)
    kind = (named or "GPT2").removesuffix("Fast").removesuffix("Tokenizer")
    if kind not in _CLASSES:
        raise Unsupported(
            f"without a tokenizer.json {named!r:.80} is not supported; save one with transformers",
            field=config.at("tokenizer_class"),
        )
    made = _CLASSES[kind]
    vocabulary = Vocabulary.from_vocab_merges(vocab, merges)
    entries: dict[str, int] = files.parse_json(vocab, "vocab.json")
    names = {id: entry for entry, id in entries.items()}
    flagged = {token.content: token for token, _ in take_decoder(config)}
    usual = made.roles if named else {}
    usual = {role: literal for role, literal in usual.items() if literal in entries or literal in flagged}
    taken = take_roles((config, tokens_map), replace(made, roles=usual))
    roles = {role: token for role, (token, _) in taken.items()}
    tokens = flagged | _added_tokens(beside, entries, roles, flagged)
    ids = {role: tokens[token.content] for role, token in roles.items()}
    single, pair = made.single, made.pair
    if kind == "GPT2" and config.peek("add_bos_token") is True:
        single, pair = "bos A", "bos A B:1"
    space = config.take("add_prefix_space", bool, False)
    written = {
        "version": "1.0",
        "added_tokens": [
            {"id": token.id, "content": token.content, **token.flags}
            for token in sorted(tokens.values(), key=lambda token: token.id)
        ],
        "normalizer": {"type": "Sequence", "normalizers": list(made.normalizer)},
        "pre_tokenizer": _pretokenizer(made, space),
        "post_processor": _frame(single, pair, ids),
        "decoder": _decoder(made.suffix),
        "model": {
            "type": "BPE",
            "unk_token": ids["unk"].content if made.suffix and "unk" in ids else None,
            "end_of_word_suffix": made.suffix,
            "vocab": entries,
            "merges": [[names[left], names[right]] for left, right, _ in vocabulary.merge_ids()],
        },
    }
    literals = {role: token.content for role, token in roles.items()}
    return json.dumps(written).encode(), with_roles(beside, literals)


def _added_tokens(
    beside: Mapping[str, bytes],
    entries: Mapping[str, int],
    roles: Mapping[str, AddedToken],
    flagged: Mapping[str, AddedToken],
) -> dict[str, AddedToken]:
    """Collect the added tokens beside those with all their flags: with only an id, then those that have a role."""
    named: dict[str, tuple[AddedToken, str]] = {}
    for role, token in roles.items():
        named.setdefault(token.content, (token, f"{role}_token"))
    for token, place in take_named(beside, LISTS):
        named.setdefault(token.content, (token, place))
    tokens: dict[str, AddedToken] = {}
    listed = load(beside, ADDED)
    for literal, value in listed.rest().items():
        id = identifier(value, listed.at(literal[:80]))
        token, _ = named.get(literal, (AddedToken(id=0, content=literal), ""))
        if literal not in flagged:
            tokens[literal] = replace(token, id=id)
    for literal, (token, place) in named.items():
        if literal not in tokens and literal not in flagged:
            if literal not in entries:
                raise InvalidArtifact(f"{literal[:80]!r} is not in vocab.json", field=place)
            tokens[literal] = replace(token, id=identifier(entries[literal], f"vocab.json.{literal[:80]}"))
    return tokens


def _pretokenizer(made: _Class, space: bool) -> dict[str, Any]:
    is_whole = made.pattern is None
    last = write_byte_level(add_prefix_space=space, use_regex=is_whole or made.removes)
    if is_whole:
        return last
    cut = {
        "type": "Split",
        "pattern": {"Regex": made.pattern},
        "behavior": "Removed" if made.removes else "Isolated",
        "invert": made.removes,
    }
    return {"type": "Sequence", "pretokenizers": [cut, last]}


def _decoder(suffix: str) -> dict[str, Any]:
    whole = write_byte_level(add_prefix_space=True, use_regex=True)
    if not suffix:
        return whole
    # transformers does this behind the library: ends of words become spaces, and none is left at the end.
    spaces = {"type": "Replace", "pattern": {"String": suffix}, "content": " "}
    return {"type": "Sequence", "decoders": [whole, spaces, {"type": "Strip", "content": " ", "start": 0, "stop": 1}]}


def _frame(single: str, pair: str, ids: Mapping[str, AddedToken]) -> dict[str, Any]:
    """Write a frame of roles and texts.

    Raises:
        InvalidArtifact: a role has no token.
    """

    named = {role: token.id for role, token in ids.items()}
    try:
        frames = read_frame(single, named), read_frame(pair, named)
    except KeyError as error:
        message = f"the class puts its {error.args[0]} token round a text, and there is none"
        raise InvalidArtifact(message, field=CONFIG) from None
    return write_frames(*frames, {token.id: token.content for token in ids.values()})
