"""The option ``block_hashes`` and what it adds to an answer."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

BLOCK_HASHES: Any = Field(
    None,
    description="Also hash the ids in blocks: `scheme`, `block_size`, and what the scheme takes beside the ids, such "
    "as `lora` or `cache_salt`.",
)


class BlockHashesOfRow(BaseModel):
    """The hashes of one row of ids, without padding."""

    scheme: str
    block_size: int
    blocks: list[str] = Field(description="64 bits each, in decimal: JSON's numbers do not hold them everywhere.")
    digests: list[str] | None = Field(None, description="Whole digests in hexadecimal, if the scheme has any.")
    sequence: list[str] | None = Field(None, description="Dynamo's hashes of each block and all before it.")
