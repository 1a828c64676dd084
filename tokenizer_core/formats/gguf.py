"""Read the tokenizer of a GGUF file: the keys ``tokenizer.*`` of its metadata.

A reader of another family is a function from ``Keys`` to ``TokenizerParts`` in ``_READERS``.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from pathlib import Path

from tokenizer_core._kernel import Vocabulary
from tokenizer_core.arguments import path_of
from tokenizer_core.config import PipelineConfig, TokenizerParts
from tokenizer_core.errors import InvalidArtifact, TokdError, Unsupported
from tokenizer_core.formats import files, gguf_bert, gguf_gemma4, gguf_metadata, gguf_sentencepiece
from tokenizer_core.formats.added import reserve
from tokenizer_core.formats.gguf_keys import (
    ARCHITECTURE,
    CONTROL,
    MERGES,
    MODEL,
    NAME,
    PRE,
    ROLES,
    TOKENS,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    Keys,
    added_tokens,
    kinds,
    numbered,
    role_id,
    settings,
)
from tokenizer_core.formats.gguf_patterns import PRETOKENIZERS
from tokenizer_core.nearest import did_you_mean

_NOT_YET = {"rwkv": "RWKV World"}


def read(path: str | Path) -> TokenizerParts:
    """Read a file; its tensors are not looked at.

    Raises:
        ArtifactNotFound: there is no such file.
        InvalidArtifact: with the key.
        Unsupported: a model or a pretokenizer that is not known, by name.
    """
    path = path_of(path)
    values, digest = gguf_metadata.read(path, ("tokenizer.", ARCHITECTURE, NAME))
    keys = Keys(values)
    model = keys.take(MODEL, str)
    if model not in _READERS:
        family = f"{_NOT_YET[model]}, which is not supported yet" if model in _NOT_YET else "not known"
        raise Unsupported(
            f"{MODEL} is {model[:80]!r}: {family}; supported: {', '.join(_READERS)}",
            field=MODEL,
        )
    parts = _READERS[model](keys)
    origin = {"format": "gguf", "files": {path.name: digest}, "hashed": "metadata"}
    return dataclasses.replace(parts, name=files.name_of_file(path), provenance={"imported_from": origin})


def _byte_level(keys: Keys) -> TokenizerParts:
    pre = keys.take(PRE, str, "default")
    if pre not in PRETOKENIZERS:
        raise Unsupported(
            f"{PRE} is {pre[:80]!r}, a pretokenizer whose pattern is not known here"
            f"{did_you_mean(pre, PRETOKENIZERS)}; import the tokenizer.json of the model",
            field=PRE,
        )
    pretokenizer = PRETOKENIZERS[pre]
    tokens, merges = keys.strings(TOKENS), keys.strings(MERGES)
    added = added_tokens(keys, tokens)
    vocabulary = reserve(_vocabulary(tokens, merges, keys), added, ignore_merges=pretokenizer.ignore_merges)
    roles = {role: role_id(keys, name, len(tokens)) for role, name in ROLES.items()}
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
    return TokenizerParts(vocabulary, config, settings(keys, roles, added))


def _vocabulary(tokens: list[str], merges: list[str], keys: Keys) -> Vocabulary:
    """Build the vocabulary of all that text can become: normal tokens, and others that a merge names."""
    for rank, merge in enumerate(merges):
        if "\n" in merge or "\r" in merge:
            raise InvalidArtifact("the merge holds a line break", field=f"{MERGES}[{rank}]")
    merged = {part for merge in merges for part in (*merge.split(" "), merge.replace(" ", ""))}
    unreached = (UNKNOWN, CONTROL, USER_DEFINED, UNUSED)
    types = kinds(keys, len(tokens))
    entries = numbered((id, token) for id, token in enumerate(tokens) if types[id] not in unreached or token in merged)
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
    return f"{MERGES}[{int(line[1]) - 2}]" if line else TOKENS


_READERS: dict[str, Callable[[Keys], TokenizerParts]] = {
    "gpt2": _byte_level,
    "bert": gguf_bert.read,
    "gemma4": gguf_gemma4.read,
    **gguf_sentencepiece.READERS,
}
"""The reader of each ``tokenizer.ggml.model``."""
