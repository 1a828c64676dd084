"""Write the merges of a small vocabulary as a table of 16-bit ids, for programs that map it into memory.

Little-endian, six bytes a merge in rank order: the ids of the left part, the right part and their product.
"""

from __future__ import annotations

import sys
from array import array
from itertools import chain

from tokenizer_core.config import TokenizerParts
from tokenizer_core.errors import InvalidArtifact

NAME = "merges.u16"


def wanted(parts: TokenizerParts) -> bool:
    """Tell whether the tokenizer was trained for 16 bits."""
    settings = parts.provenance.get("settings")
    return isinstance(settings, dict) and settings.get("sixteen_bit") is True


def render(parts: TokenizerParts) -> bytes:
    """Write the table."""
    if parts.vocabulary.id_limit > 1 << 16:
        raise InvalidArtifact("the vocabulary has ids that do not fit into 16 bits", field=NAME)
    numbers = array("H", chain.from_iterable(parts.vocabulary.merge_ids()))
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def check(parts: TokenizerParts, data: bytes) -> None:
    """Check a table against the vocabulary.

    Raises:
        InvalidArtifact: ``invalid_file``.
    """
    if data != render(parts):
        raise InvalidArtifact(f"{NAME} contradicts tokenizer.json; write the artifact again", field=NAME)
