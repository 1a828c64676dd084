"""The keys of a GGUF file that all families have: tokens, their types, roles, added tokens, chat templates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from tokenizer_core.config import AddedToken, Settings
from tokenizer_core.errors import InvalidArtifact

T = TypeVar("T")

ARCHITECTURE, NAME = "general.architecture", "general.name"
MODEL, PRE = "tokenizer.ggml.model", "tokenizer.ggml.pre"
TOKENS, MERGES, TYPES = ("tokenizer.ggml.tokens", "tokenizer.ggml.merges", "tokenizer.ggml.token_type")
UNKNOWN, CONTROL, USER_DEFINED, UNUSED = 2, 3, 4, 5
"""Values of ``tokenizer.ggml.token_type``; 1 is normal, 6 a byte."""

ROLES = {"bos": "bos", "eos": "eos", "pad": "padding", "unk": "unknown"}


class Keys:
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


def kinds(keys: Keys, count: int) -> list[int]:
    """Return the type of every token; a file without types has normal tokens alone."""
    values = keys.take(TYPES, list, [1] * count)
    if len(values) != count or (values and type(values[0]) is not int):
        raise InvalidArtifact(f"{TYPES} has {len(values)} values for {count} tokens", field=TYPES)
    return values


def numbered(tokens: Iterable[tuple[int, str]]) -> dict[str, int]:
    """Return the ids of tokens, none of which stands twice."""
    ids: dict[str, int] = {}
    for id, token in tokens:
        if ids.setdefault(token, id) != id:
            message = f"the token {token[:80]!r} has the ids {ids[token]} and {id}"
            raise InvalidArtifact(message, code="duplicate_token", field=f"{TOKENS}[{id}]")
    return ids


def role_id(keys: Keys, name: str, count: int) -> int | None:
    """Return the id of the token that has a role, by llama.cpp's name of it."""
    key = f"tokenizer.ggml.{name}_token_id"
    if key not in keys.values:
        return None
    id = keys.take(key, int)
    if not 0 <= id < count:
        raise InvalidArtifact(f"{key} is {id}, and there are {count} tokens", code="id_out_of_range", field=key)
    return id


def templates(keys: Keys) -> dict[str, str]:
    """Return the chat templates by name."""
    first = "tokenizer.chat_template"
    named = [key for key in keys.values if key.startswith(f"{first}.")]
    others = {key.removeprefix(f"{first}."): keys.take(key, str) for key in named}
    return others | ({"default": keys.take(first, str)} if first in keys.values else {})


def settings(keys: Keys, roles: Mapping[str, int | None], added: tuple[AddedToken, ...]) -> Settings:
    """Return the literals of the roles and the chat templates."""
    literals = {token.id: token.content for token in added}
    bos, eos, pad, unk = (None if (id := roles[role]) is None else literals.get(id) for role in ROLES)
    named = templates(keys)
    return Settings(
        bos=bos,
        eos=eos,
        pad=pad,
        unk=unk,
        chat_template=named.pop("default", None),
        named_templates=tuple(sorted(named.items())),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _WhiteSpace:
    """The side on which some added tokens of a model take the white space along.

    No key says it: llama.cpp knows it by names (``llama-vocab.cpp``), of which the first that fits counts.

    Attributes:
        key: the key that names the model.
        names: parts of its value in lower case, any of which is enough.
        literals: the tokens; all but ``others`` where there are none.
    """

    key: str
    names: tuple[str, ...]
    side: Literal["lstrip", "rstrip"]
    literals: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    def flags(self, literal: str) -> dict[str, bool]:
        has = literal in self.literals if self.literals else literal not in self.others
        return {self.side: True} if has else {}


_RULES = (
    _WhiteSpace(key=PRE, names=("jina-v2-de", "jina-v2-es", "jina-v2-code"), side="lstrip", literals=("<mask>",)),
    _WhiteSpace(key=ARCHITECTURE, names=("nomic-bert-moe", "jina-bert-v3"), side="lstrip", literals=("<mask>",)),
    _WhiteSpace(key=NAME, names=("phi-3", "phi3"), side="rstrip", others=("<unk>", "<s>", "<|endoftext|>")),
    _WhiteSpace(key=NAME, names=("modern-bert",), side="lstrip", literals=("[MASK]",)),
    # llama.cpp misses ModernBERT's own name; the model's own library does not.
    _WhiteSpace(key=PRE, names=("modern-bert",), side="lstrip", literals=("[MASK]",)),
)
_NONE = _WhiteSpace(key="", names=(), side="lstrip", literals=("",))


def added_tokens(keys: Keys, tokens: list[str]) -> tuple[AddedToken, ...]:
    """Take the control and user-defined tokens; rows that a converter filled with ``[PAD7]`` are nobody's."""
    special = {UNKNOWN: True, CONTROL: True, USER_DEFINED: False}
    values = {key: keys.take(key, str, "").lower() for key in (PRE, ARCHITECTURE, NAME)}
    fitting = (rule for rule in _RULES if any(name in values[rule.key] for name in rule.names))
    rule = next(fitting, _NONE)
    return tuple(
        AddedToken(id=id, content=token, special=special[kind], **rule.flags(token))
        for id, (token, kind) in enumerate(zip(tokens, kinds(keys, len(tokens)), strict=True))
        if kind in special and token != f"[PAD{id}]"
    )
