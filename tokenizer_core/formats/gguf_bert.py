"""Read a GGUF file with a WordPiece: llama.cpp marks the entries that begin a word, and not those that go on.

Few files say what the normalizer does. For all others it is that of Hugging Face's ``BertTokenizer``, which puts text
into lower case and strips accents, unless entries show that the model knows capital letters.
"""

from __future__ import annotations

import dataclasses
import re

from tokenizer_core._kernel import Vocabulary
from tokenizer_core.config import TokenizerParts
from tokenizer_core.errors import InvalidArtifact
from tokenizer_core.formats import bert
from tokenizer_core.formats.gguf_keys import (
    CONTROL,
    ROLES,
    TOKENS,
    UNKNOWN,
    USER_DEFINED,
    Keys,
    added_tokens,
    kinds,
    role_id,
    settings,
)
from tokenizer_core.stages import Normalizer

_BEGINS = "\u2581"
_PREFIX = "##"
_CAPITAL = re.compile("[A-Z]")
_LITERAL = re.compile(r"\[[A-Za-z0-9_]+\]")
"""Tokens that converters leave as they are, whatever their type: ``[unused7]``."""


def read(keys: Keys) -> TokenizerParts:
    """Read the keys of a file."""
    tokens = keys.strings(TOKENS)
    entries: dict[str, int] = {}
    for id, (token, kind) in enumerate(zip(tokens, kinds(keys, len(tokens)), strict=True)):
        entry = _entry(token, kind)
        if not entry or entry in entries:
            raise InvalidArtifact(
                f"the token {token[:80]!r} is empty, or stands twice", code="duplicate_token", field=f"{TOKENS}[{id}]"
            )
        entries[entry] = id
    added = added_tokens(keys, tokens)
    count = len(tokens)
    roles = {role: role_id(keys, name, count) for role, name in ROLES.items()}
    cls, sep = role_id(keys, "cls", count), role_id(keys, "seperator", count)
    framed = keys.take("tokenizer.ggml.add_bos_token", bool, True)
    is_cased = any(_CAPITAL.search(entry) for entry in entries if not _LITERAL.fullmatch(entry))
    lowercase = keys.take("tokenizer.ggml.normalizer.lowercase", bool, not is_cased)
    strip_accents = keys.take("tokenizer.ggml.normalizer.strip_accents", bool, lowercase)
    parts = bert.build(
        Vocabulary.from_texts([(id, entry) for entry, id in entries.items()], [], []),
        added,
        bert.Roles(
            unk=roles["unk"],
            cls=(roles["bos"] if cls is None else cls) if framed else None,
            sep=(roles["eos"] if sep is None else sep) if framed else None,
        ),
        Normalizer(
            "bert", clean_text=True, handle_chinese_chars=True, strip_accents=strip_accents, lowercase=lowercase
        ),
    )
    named = settings(keys, roles, added)
    return dataclasses.replace(parts, settings=dataclasses.replace(named, pair_template=parts.settings.pair_template))


def _entry(token: str, kind: int) -> str:
    """Write a token as BERT's own files do."""
    if kind in (UNKNOWN, CONTROL, USER_DEFINED) or _LITERAL.fullmatch(token):
        return token
    return token.removeprefix(_BEGINS) if token.startswith(_BEGINS) else _PREFIX + token
