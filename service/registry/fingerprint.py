"""The options that decide the ids of a chat beside its tokenizer, and so are in the fingerprint of answers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from service.settings import Settings
from tokenizer_core import Tokenizer

Literals = Literal["text", "engine"]
"""The treatment of a special token's literal in a message: as text, or as the engine treats it."""

HEADER = b"tokd-fingerprint"
"""The header of answers: a member of a body that an engine takes would go on to the engine."""


@dataclass(frozen=True, slots=True)
class IdOptions:
    """The settings of a server, the same for all its tokenizers, that decide the ids of a chat."""

    chat_literals: str = "text"
    content_format: str = "auto"

    @classmethod
    def of(cls, settings: Settings) -> IdOptions:
        """Take them from the settings."""
        return cls(settings.chat_literals, settings.content_format)

    def fingerprint(self, tokenizer: Tokenizer, literals: Literals) -> str:
        """Return a tokenizer's fingerprint: servers with equal ones give equal ids."""
        return tokenizer.fingerprint(literals=literals, **asdict(self))


DEFAULTS = IdOptions()
