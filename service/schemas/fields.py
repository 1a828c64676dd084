"""Types that requests and answers share."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

SpecialTokens = Literal["reject", "text", "parse"]

MAX_SEED = (1 << 64) - 1

Object = dict[str, Any]

MAX_ID = (1 << 32) - 1
MAX_POSITION = 1 << 31

Id = Annotated[int, Field(ge=0, le=MAX_ID)]
Position = Annotated[int, Field(ge=0, le=MAX_POSITION)]
Span = Annotated[list[Position], Field(min_length=2, max_length=2)]


def drop_default(schema: dict[str, Any]) -> None:
    """Document a field that may be missing and is never null without the null that stands for it here."""
    del schema["default"]
