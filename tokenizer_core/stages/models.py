"""Models: what turns pieces into ids, beside the vocabulary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tokenizer_core.arguments import optional_integer


@dataclass(frozen=True, slots=True)
class ByteBpe:
    """BPE over bytes; its settings are those of the pipeline."""

    def _json(self) -> dict[str, Any]:
        return {"type": "byte_bpe"}


@dataclass(frozen=True, slots=True, kw_only=True)
class WordLevel:
    """Each piece is one token; a piece that is no entry becomes ``unk``, or is refused where that is ``None``."""

    unk: int | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "unk", optional_integer(self.unk, "unk"))

    def _json(self) -> dict[str, Any]:
        return {"type": "word_level", "unk": self.unk}


Model = ByteBpe | WordLevel
