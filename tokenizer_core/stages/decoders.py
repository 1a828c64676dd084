"""Steps from the texts of tokens to text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tokenizer_core.arguments import check_choice

Joining = Literal["spaced"]


@dataclass(frozen=True, slots=True)
class Join:
    """A decoder without settings; ``spaced`` puts a space between tokens, as where Hugging Face has no decoder."""

    type: Joining

    def __post_init__(self) -> None:
        check_choice(self.type, Joining, "type")

    def _json(self) -> dict[str, Any]:
        return {"type": self.type}


DecoderStage = Join
