"""The added tokens of a GGUF file, with the white space that they take along.

No key says that white space: llama.cpp knows it by names (``llama-vocab.cpp``), of which the first that fits counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tokenizer_core.config import AddedToken
from tokenizer_core.formats.gguf_keys import CONTROL, PRE, UNKNOWN, USER_DEFINED, Keys, kinds

ARCHITECTURE, NAME = "general.architecture", "general.name"


@dataclass(frozen=True, slots=True, kw_only=True)
class _WhiteSpace:
    """The side on which some tokens of a model take the white space.

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
