"""The keys of ``tokenizer_config.json`` and ``special_tokens_map.json`` that name special tokens."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tokenizer_core.config import ADDED_TOKEN_FLAGS, AddedToken
from tokenizer_core.errors import InvalidArtifact
from tokenizer_core.formats import files
from tokenizer_core.formats.added import read_added_token
from tokenizer_core.formats.fields import Fields, identifier

CONFIG, TOKENS_MAP, ADDED = "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"
ROLES = ("bos", "eos", "pad", "unk")
OTHER_ROLES = ("sep_token", "cls_token", "mask_token")
LISTS = ("additional_special_tokens", "extra_special_tokens")
ALL_ROLES = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
"""In the order in which transformers adds their tokens."""
NAMING = (*(f"{role}_token" for role in ALL_ROLES), *LISTS)
"""The keys that name special tokens, in the same order."""
ROBERTA = dict(zip(ALL_ROLES, ("<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"), strict=True))
BERT = dict(zip(ALL_ROLES, ("[CLS]", "[SEP]", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"), strict=True))
"""Literals of the roles in well-known vocabularies."""


def load(beside: Mapping[str, bytes], name: str) -> Fields:
    """Read one of the files; a missing one has no keys."""
    return Fields(files.parse_json(beside[name], name) if name in beside else {}, name)


def with_roles(beside: Mapping[str, bytes], literals: Mapping[str, str]) -> dict[str, bytes]:
    """Name the tokens of roles that the configuration does not name."""
    told = {**files.parse_json(beside.get(CONFIG, b"{}"), CONFIG)}
    told |= {f"{role}_token": literal for role, literal in literals.items() if not told.get(f"{role}_token")}
    return {**beside, CONFIG: json.dumps(told).encode()}


def take_decoder(config: Fields) -> Iterator[tuple[AddedToken, str]]:
    """Take ``added_tokens_decoder``, which has the added tokens by id; return each with its place."""
    value = config.any("added_tokens_decoder")
    table = Fields({} if value is None else value, config.at("added_tokens_decoder"))
    for key, value in table.rest().items():
        place = table.at(key[:80])
        id = identifier(int(key) if key.isascii() and key.isdigit() and len(key) < 12 else None, place)
        yield read_added_token(value, place, id=id), place


def take_literal(fields: Fields, key: str) -> str | None:
    """Take the literal of a token that is written as such, or as an object with its flags."""
    token = take_token(fields, key)
    return token.content if isinstance(token, AddedToken) else token


def take_token(fields: Fields, key: str) -> AddedToken | str | None:
    """Take a token that is written as its literal, or as an object with its flags: this is special and has the id 0."""
    value = fields.any(key)
    if value is None or isinstance(value, str):
        return value
    token = Fields(value, fields.at(key))
    token.optional("__type", str)
    literal = token.take("content", str)
    flags = {flag: token.take(flag, bool, False) for flag in ADDED_TOKEN_FLAGS}
    token.finish()
    return AddedToken(id=0, content=literal, **{**flags, "special": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassTokens:
    """The special tokens of a class of transformers, where the files say nothing of them.

    Attributes:
        roles: literals by role.
        normalized: roles that are found in the normalized text.
        spaced_mask: the mask takes the white space before it.
    """

    roles: Mapping[str, str] = field(default_factory=dict)
    normalized: frozenset[str] = frozenset()
    spaced_mask: bool = False


def take_roles(found: Sequence[Fields], usual: ClassTokens) -> dict[str, tuple[AddedToken, bool]]:
    """Take the token of each role, with the id 0, and whether a file names it: the first that does, or the class."""
    roles: dict[str, tuple[AddedToken, bool]] = {}
    for role in ALL_ROLES:
        tokens = [take_token(fields, f"{role}_token") for fields in found]
        named = next((token for token in tokens if token is not None), None)
        token = usual.roles.get(role) if named is None else named
        if isinstance(token, str):
            lstrip, normalized = usual.spaced_mask and role == "mask", role in usual.normalized
            token = AddedToken(id=0, content=token, special=True, lstrip=lstrip, normalized=normalized)
        if token is not None:
            roles[role] = token, named is not None
    return roles


def take_listed(fields: Fields, key: str) -> list[tuple[AddedToken, str]]:
    """Take a list of tokens, or an object that gives each a name; return special tokens with the id 0, and places."""
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
        token = take_token(Fields({"token": item}, place), "token")
        if token is None:
            raise InvalidArtifact(f"{place} must be a token", field=place)
        found.append((_special(token), place))
    return found


def take_named(beside: Mapping[str, bytes], keys: Sequence[str]) -> Iterator[tuple[AddedToken, str]]:
    """Take the special tokens that some keys of both files name, with the id 0; return each with its place."""
    both = [load(beside, name) for name in (TOKENS_MAP, CONFIG)]
    for key in keys:
        for fields in both:
            if key in LISTS:
                yield from take_listed(fields, key)
            elif (token := take_token(fields, key)) is not None:
                yield _special(token), fields.at(key)


def take_added(beside: Mapping[str, bytes], *, normalized: bool) -> Iterator[tuple[AddedToken, str]]:
    """Take the added tokens that files list with ids: ``added_tokens_decoder``, or the older ``added_tokens.json``.

    Args:
        normalized: tokens of the latter that are not special are found in the normalized text.
    """
    config = load(beside, CONFIG)
    if config.has("added_tokens_decoder"):
        yield from take_decoder(config)
        return
    special = {token.content for token, _ in take_named(beside, NAMING)}
    listed = load(beside, ADDED)
    for literal, id in listed.rest().items():
        place, is_special = listed.at(literal[:80]), literal in special
        flags = {"special": is_special, "normalized": normalized and not is_special}
        yield AddedToken(id=identifier(id, place), content=literal, **flags), place


def _special(token: AddedToken | str) -> AddedToken:
    return AddedToken(id=0, content=token, special=True) if isinstance(token, str) else token
