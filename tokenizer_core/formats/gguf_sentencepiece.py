"""Read a GGUF file with a SentencePiece model: BPE by scores (``llama``) or Unigram (``t5``).

llama.cpp's converter copies the pieces, their scores and their types out of the model's file, so the model is written
again from them. What a key does not say is llama.cpp's default. SentencePiece gives the ids; where llama.cpp differs,
``docs/formats.md`` says so.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from tokenizer_core.config import AddedToken, TokenizerParts
from tokenizer_core.errors import InvalidArtifact, TokdError
from tokenizer_core.formats import sentencepiece, sentencepiece_write
from tokenizer_core.formats.gguf_keys import (
    CONTROL,
    ROLES,
    TOKENS,
    TYPES,
    UNKNOWN,
    UNUSED,
    Keys,
    added_tokens,
    kinds,
    role_id,
    templates,
)
from tokenizer_core.formats.hf_roles import CONFIG
from tokenizer_core.formats.sentencepiece_write import BYTE, NORMAL, USER_DEFINED, Piece

_ADDED = -1000.0
"""The score of a token that a converter adds."""

_SCORES = "tokenizer.ggml.scores"
_CHARSMAP = "tokenizer.ggml.precompiled_charsmap"

_DEFAULT_IDS = {"bpe": {"bos": 1, "eos": 2, "unk": 0}, "unigram": {"eos": 1, "unk": 2, "pad": 0}}
_DEFAULT_FRAME = {"bpe": {"bos": True, "eos": False}, "unigram": {"bos": False, "eos": True}}
"""Roles and frame where the file does not say: those of Llama 2 and of T5."""


def _read(model_type: Literal["bpe", "unigram"], keys: Keys) -> TokenizerParts:
    tokens = keys.strings(TOKENS)
    roles = _roles(keys, model_type, len(tokens))
    prefix = keys.take("tokenizer.ggml.add_space_prefix", bool, True)
    listed, pieces = _listed(_pieces(keys, tokens, roles["unk"]), added_tokens(keys, tokens), prefix=prefix)
    rules = sentencepiece_write.Rules(
        model_type=model_type,
        byte_fallback=any(kind == BYTE for _, _, kind in pieces),
        dummy_prefix=prefix,
        fold=keys.take("tokenizer.ggml.remove_extra_whitespaces", bool, False),
        charsmap=_charsmap(keys),
        names={role: pieces[id][0] for role, id in roles.items() if id is not None},
    )
    beside = _beside(keys, model_type, roles, tokens, listed)
    try:
        return sentencepiece.parse(sentencepiece_write.write(pieces, rules), beside)
    except TokdError as error:
        error.place["field"] = _place(str(error.place.get("field", "")))
        raise


def _place(field: str) -> str:
    """Name a place of the model by the key of the file."""
    if field.startswith("normalizer"):
        return _CHARSMAP
    return field.replace("pieces", TOKENS, 1) if field.startswith("pieces") else TOKENS


def _roles(keys: Keys, model_type: str, count: int) -> dict[str, int | None]:
    found = {role: role_id(keys, name, count) for role, name in ROLES.items()}
    defaults = {role: id for role, id in _DEFAULT_IDS[model_type].items() if id < count}
    types = kinds(keys, count)
    for role, id in defaults.items():
        if found[role] is None and types[id] in (CONTROL, UNKNOWN):
            found[role] = id
    if found["unk"] is None:
        found["unk"] = next((id for id, kind in enumerate(types) if kind == UNKNOWN), None)
    return found


def _pieces(keys: Keys, tokens: list[str], unk: int | None) -> list[Piece]:
    """Return the text, score and type of each id; rows that fill the table up are nobody's."""
    scores = keys.take(_SCORES, list, [0.0] * len(tokens))
    if len(scores) != len(tokens) or (scores and type(scores[0]) is not float):
        raise InvalidArtifact(f"{_SCORES} has {len(scores)} floats for {len(tokens)} tokens", field=_SCORES)
    pieces = []
    for id, (token, score, kind) in enumerate(zip(tokens, scores, kinds(keys, len(tokens)), strict=True)):
        if not math.isfinite(score):
            raise InvalidArtifact(f"the score is {score}", field=f"{_SCORES}[{id}]")
        if not NORMAL <= kind <= BYTE:
            raise InvalidArtifact(f"{kind} is no type of a token", field=f"{TYPES}[{id}]")
        if token == f"[PAD{id}]":
            kind = UNUSED
        elif id == unk:
            kind = UNKNOWN
        elif kind == UNKNOWN:
            kind = CONTROL
        elif kind == USER_DEFINED:
            # The converter writes spaces into the tokens that are added to a model.
            token = token.replace(" ", "\u2581")
        pieces.append((token, score, kind))
    return pieces


def _listed(
    pieces: list[Piece], added: tuple[AddedToken, ...], *, prefix: bool
) -> tuple[list[AddedToken], list[Piece]]:
    """Tell the tokens that were added to a model from its own symbols, which SentencePiece finds by itself.

    Added tokens stand behind the pieces, or have a converter's score. Gemma's symbols have this score too; what tells
    the two apart, the space before a text, is not there.

    Returns:
        The tokens that must be listed beside the model, and the pieces, of which no text becomes one that was added.
    """
    last = max((id for id, (_, _, kind) in enumerate(pieces) if kind in (NORMAL, BYTE)), default=-1)
    listed, pieces = [], list(pieces)
    for token in added:
        _, score, kind = pieces[token.id]
        is_added = kind == USER_DEFINED and (token.id > last or (score == _ADDED and prefix))
        if is_added:
            pieces[token.id] = (token.content, score, UNUSED)
        if is_added or token.lstrip or token.rstrip:
            listed.append(token)
    return listed, pieces


def _charsmap(keys: Keys) -> bytes:
    """Return the compiled rules, whose bytes are numbers with or without a sign."""
    values = keys.take(_CHARSMAP, list, [])
    if values and type(values[0]) is not int:
        raise InvalidArtifact(f"{_CHARSMAP} is not an array of bytes", field=_CHARSMAP)
    try:
        return bytes(value & 0xFF if -0x80 <= value < 0 else value for value in values)
    except ValueError:
        raise InvalidArtifact(f"{_CHARSMAP} is not an array of bytes", field=_CHARSMAP) from None


def _beside(
    keys: Keys, model_type: str, roles: dict[str, int | None], tokens: list[str], listed: list[AddedToken]
) -> dict[str, bytes]:
    """Write the frame, the roles, the added tokens and the templates as the file that lies beside a model."""
    config: dict[str, Any] = {"added_tokens_decoder": {}}
    for token in listed:
        config["added_tokens_decoder"][token.id] = {"content": token.content, **token.flags}
    for role, default in _DEFAULT_FRAME[model_type].items():
        key = f"tokenizer.ggml.add_{role}_token"
        config[f"add_{role}_token"] = wanted = keys.take(key, bool, default)
        if wanted and roles[role] is None:
            raise InvalidArtifact(f"{key} is true, and no token has this role", field=key)
    config |= {f"{role}_token": tokens[id] for role, id in roles.items() if id is not None}
    named = templates(keys)
    if set(named) == {"default"}:
        config["chat_template"] = named["default"]
    elif named:
        config["chat_template"] = [{"name": name, "template": source} for name, source in sorted(named.items())]
    return {CONFIG: json.dumps(config).encode()}


READERS: dict[str, Callable[[Keys], TokenizerParts]] = {
    "llama": partial(_read, "bpe"),
    "t5": partial(_read, "unigram"),
}
"""By the value of ``tokenizer.ggml.model``."""
