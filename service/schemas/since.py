"""The option ``since``, for callers who keep ids, and what it adds to an answer."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from service.schemas.fields import MAX_POSITION, Part


class Since(Part):
    """Ids that the caller has."""

    count: int = Field(ge=0, le=MAX_POSITION, description="How many; 0 to begin.")
    hash: str = Field("", pattern="^([0-9a-f]{32})?$", description="The `prefix_hash` that came with them.")


SINCE: Any = Field(
    None,
    description="The ids that the caller has of one text, chat or prompt. The answer has `new_ids` in place of ids, "
    "`prefix_hash` for the next request, and `since` again, or null if the ids begin otherwise: then all are new.",
)

NEW_IDS = "The ids behind those of `since`."
PREFIX_HASH = "The XXH3 of 128 bits of all ids as 32-bit integers, little-endian, in hexadecimal."
SINCE_OF_ANSWER = "As sent; null if the ids do not begin with those."
