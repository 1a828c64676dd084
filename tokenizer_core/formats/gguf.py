"""Read the tokenizer of a GGUF file: the keys ``tokenizer.*`` of its metadata.

A reader of another family is a function from ``_Keys`` to ``TokenizerParts`` in ``_READERS``.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from tokenizer_core._kernel import Vocabulary
from tokenizer_core.arguments import path_of
from tokenizer_core.config import AddedToken, PipelineConfig, Settings, TokenizerParts
from tokenizer_core.errors import InvalidArtifact, TokdError, Unsupported
from tokenizer_core.formats import files, gguf_metadata
from tokenizer_core.formats.added import reserve
from tokenizer_core.formats.gguf_patterns import PRETOKENIZERS
from tokenizer_core.nearest import did_you_mean

T = TypeVar("T")

_TOKENS, _MERGES, _TYPES = ("tokenizer.ggml.tokens", "tokenizer.ggml.merges", "tokenizer.ggml.token_type")
_UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED = 2, 3, 4, 5
"""Values of ``tokenizer.ggml.token_type``; 1 is normal, 6 a byte."""

_ROLES = {"bos": "bos", "eos": "eos", "pad": "padding", "unk": "unknown"}
_NOT_YET = {
    "llama": "SentencePiece BPE (Llama 2, Mistral 7B, Gemma)",
    "gemma4": "SentencePiece BPE (Gemma 4)",
    "bert": "WordPiece (BERT)",
    "t5": "Unigram (T5)",
    "rwkv": "RWKV World",
}


class _Keys:
    """The keys of the file that speak of its tokenizer; each is of the type that it must have, or refused."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values

    def take(self, key: str, kind: type[T], default: T | None = None) -> T:
        value = self.values.get(key, default)
        if value is None:
            raise InvalidArtifact(f"{key} is missing", field=key)
        if type(value) is not kind:
            raise InvalidArtifact(f"{key} is of another type than {kind.__name__}", field=key)
        return value

    def strings(self, key: str) -> list[str]:
        values = self.take(key, list)
        if values and not isinstance(values[0], str):
            raise InvalidArtifact(f"{key} is not an array of strings", field=key)
        return values


def read(path: str | Path) -> TokenizerParts:
    """Read a file; its tensors are not looked at.

    Raises:
        ArtifactNotFound: there is no such file.
        InvalidArtifact: with the key.
        Unsupported: a model or a pretokenizer that is not known, by name.
    """
    path = path_of(path)
    values, digest = gguf_metadata.read(path, "tokenizer.")
    keys = _Keys(values)
    model = keys.take("tokenizer.ggml.model", str)
    if model not in _READERS:
        family = f"{_NOT_YET[model]}, which is not supported yet" if model in _NOT_YET else "not known"
        raise Unsupported(
            f"tokenizer.ggml.model is {model[:80]!r}: {family}; supported: {', '.join(_READERS)}",
            field="tokenizer.ggml.model",
        )
    parts = _READERS[model](keys)
    origin = {"format": "gguf", "files": {path.name: digest}, "hashed": "metadata"}
    return dataclasses.replace(parts, name=files.name_of_file(path), provenance={"imported_from": origin})


def _byte_level(keys: _Keys) -> TokenizerParts:
    pre = keys.take("tokenizer.ggml.pre", str, "default")
    if pre not in PRETOKENIZERS:
        raise Unsupported(
            f"tokenizer.ggml.pre is {pre[:80]!r}, a pretokenizer whose pattern is not known here"
            f"{did_you_mean(pre, PRETOKENIZERS)}; import the tokenizer.json of the model",
            field="tokenizer.ggml.pre",
        )
    pretokenizer = PRETOKENIZERS[pre]
    tokens, merges = keys.strings(_TOKENS), keys.strings(_MERGES)
    added = _added_tokens(keys, tokens)
    vocabulary = reserve(_vocabulary(tokens, merges, keys), added, ignore_merges=pretokenizer.ignore_merges)
    roles = {role: _role(keys, name, len(tokens)) for role, name in _ROLES.items()}
    frame = {
        role: keys.take(f"tokenizer.ggml.add_{role}_token", bool, role == "bos" and pretokenizer.add_bos)
        for role in ("bos", "eos")
    }
    for role, wanted in frame.items():
        if wanted and roles[role] is None:
            key = f"tokenizer.ggml.add_{role}_token"
            raise InvalidArtifact(f"{key} is true, and no token has this role", field=key)
    config = PipelineConfig(
        normalizer=pretokenizer.normalizer,
        pretokenizer=pretokenizer.stages,
        ignore_merges=pretokenizer.ignore_merges,
        added_tokens=added,
        prefix_ids=tuple(id for id in [roles["bos"]] if frame["bos"] and id is not None),
        suffix_ids=tuple(id for id in [roles["eos"]] if frame["eos"] and id is not None),
    )
    literals = {token.id: token.content for token in added}
    bos, eos, pad, unk = (None if (id := roles[role]) is None else literals.get(id) for role in _ROLES)
    templates = _templates(keys)
    settings = Settings(
        bos=bos,
        eos=eos,
        pad=pad,
        unk=unk,
        chat_template=templates.pop("default", None),
        named_templates=tuple(sorted(templates.items())),
    )
    return TokenizerParts(vocabulary, config, settings)


def _kinds(keys: _Keys, count: int) -> list[int]:
    """Return the type of every token; a file without types has normal tokens alone."""
    kinds = keys.take(_TYPES, list, [1] * count)
    if len(kinds) != count or (kinds and type(kinds[0]) is not int):
        raise InvalidArtifact(f"{_TYPES} has {len(kinds)} values for {count} tokens", field=_TYPES)
    return kinds


def _added_tokens(keys: _Keys, tokens: list[str]) -> tuple[AddedToken, ...]:
    """Take the control and user-defined tokens; rows that a converter filled with ``[PAD7]`` are nobody's."""
    special = {_UNKNOWN: True, _CONTROL: True, _USER_DEFINED: False}
    return tuple(
        AddedToken(id=id, content=token, special=special[kind])
        for id, (token, kind) in enumerate(zip(tokens, _kinds(keys, len(tokens)), strict=True))
        if kind in special and token != f"[PAD{id}]"
    )


def _vocabulary(tokens: list[str], merges: list[str], keys: _Keys) -> Vocabulary:
    """Build the vocabulary of all that text can become: normal tokens, and others that a merge names."""
    for rank, merge in enumerate(merges):
        if "\n" in merge or "\r" in merge:
            raise InvalidArtifact("the merge holds a line break", field=f"{_MERGES}[{rank}]")
    merged = {part for merge in merges for part in (*merge.split(" "), merge.replace(" ", ""))}
    entries: dict[str, int] = {}
    for id, (token, kind) in enumerate(zip(tokens, _kinds(keys, len(tokens)), strict=True)):
        if kind in (_UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED) and token not in merged:
            continue
        if token in entries:
            raise InvalidArtifact(
                f"the token {token[:80]!r} has the ids {entries[token]} and {id}",
                code="duplicate_token",
                field=f"{_TOKENS}[{id}]",
            )
        entries[token] = id
    # A header, so that no merge is taken for one.
    lines = "\n".join(["#version: 0.2", *merges])
    try:
        return Vocabulary.from_vocab_merges(json.dumps(entries, ensure_ascii=False).encode(), lines.encode())
    except TokdError as error:
        error.place["field"] = _place(str(error.place.get("field", "")))
        raise


def _place(field: str) -> str:
    """Name a place of ``merges.txt`` or ``vocab.json`` by the key of the file."""
    line = re.fullmatch("merges.txt line ([0-9]+)", field)
    return f"{_MERGES}[{int(line[1]) - 2}]" if line else _TOKENS


def _role(keys: _Keys, name: str, count: int) -> int | None:
    key = f"tokenizer.ggml.{name}_token_id"
    if key not in keys.values:
        return None
    id = keys.take(key, int)
    if not 0 <= id < count:
        raise InvalidArtifact(f"{key} is {id}, and there are {count} tokens", code="id_out_of_range", field=key)
    return id


def _templates(keys: _Keys) -> dict[str, str]:
    """Return the chat templates by name."""
    first = "tokenizer.chat_template"
    named = [key for key in keys.values if key.startswith(f"{first}.")]
    templates = {key.removeprefix(f"{first}."): keys.take(key, str) for key in named}
    return templates | ({"default": keys.take(first, str)} if first in keys.values else {})


_READERS: dict[str, Callable[[_Keys], TokenizerParts]] = {"gpt2": _byte_level}
"""The reader of each ``tokenizer.ggml.model``."""
