"""Read a GGUF file with the tokenizer of Gemma 4: BPE over characters by merges, with ``▁`` for spaces.

The file holds the vocabulary and the merges of the model's ``tokenizer.json``, and not the stages around them, which
are the same for every Gemma 4. llama.cpp puts bos before a text whatever the file says, as the model's library does.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from tokenizer_core.config import TokenizerParts
from tokenizer_core.errors import InvalidArtifact, TokdError
from tokenizer_core.formats import hf_json
from tokenizer_core.formats.gguf_keys import MERGES, ROLES, TOKENS, Keys, added_tokens, numbered, role_id, settings
from tokenizer_core.formats.hf_stages import write_frames
from tokenizer_core.frame import Part

_SPACE = "\u2581"
_A: Part = ("A", 0)
_B: Part = ("B", 0)


def read(keys: Keys) -> TokenizerParts:
    """Read the keys of a file."""
    tokens = keys.strings(TOKENS)
    roles = {role: role_id(keys, name, len(tokens)) for role, name in ROLES.items()}
    bos, unk = roles["bos"], roles["unk"]
    if bos is None:
        raise InvalidArtifact("no token begins a text", field="tokenizer.ggml.bos_token_id")
    added = added_tokens(keys, tokens)
    if bos not in {token.id for token in added}:
        raise InvalidArtifact(f"the token {bos} is not a control token", field="tokenizer.ggml.bos_token_id")
    entries = numbered((id, token) for id, token in enumerate(tokens) if token != f"[PAD{id}]")
    document = {
        "version": "1.0",
        "added_tokens": [dataclasses.asdict(token) for token in added],
        "normalizer": _replace(" ", _SPACE),
        "post_processor": write_frames(((bos, 0), _A), ((bos, 0), _A, (bos, 0), _B), {bos: tokens[bos]}),
        "decoder": {
            "type": "Sequence",
            "decoders": [_replace(_SPACE, " "), {"type": "ByteFallback"}, {"type": "Fuse"}],
        },
        "model": {
            "type": "BPE",
            "unk_token": None if unk is None else tokens[unk],
            "fuse_unk": True,
            "byte_fallback": True,
            "vocab": entries,
            "merges": [merge.split(" ", 1) for merge in keys.strings(MERGES)],
        },
    }
    try:
        parts = hf_json.parse(json.dumps(document).encode(), {})
    except TokdError as error:
        field = str(error.place.get("field", ""))
        error.place["field"] = field.replace("model.merges", MERGES, 1) if field.startswith("model.merges") else TOKENS
        raise
    return dataclasses.replace(parts, settings=_named(keys, roles, parts))


def _named(keys: Keys, roles: dict[str, int | None], parts: TokenizerParts) -> Any:
    named = settings(keys, roles, parts.config.added_tokens)
    return dataclasses.replace(named, pair_template=parts.settings.pair_template)


def _replace(text: str, content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"String": text}, "content": content}
