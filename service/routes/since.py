"""What is new of ids, for callers who keep those that they have."""

from __future__ import annotations

from typing import Any

from service.routes.texts import Ids
from service.schemas.since import Since
from tokenizer_core import prefix_hash


def count_kept(since: Since | None, ids: Ids) -> int:
    """Return how many of the ids at the beginning of a row the caller has: all that he says, or none."""
    if since is None or not 0 < since.count <= len(ids) or prefix_hash(ids[: since.count]) != since.hash:
        return 0
    return since.count


def new_of(since: Since, ids: Ids) -> dict[str, Any]:
    """Return the fields that ``since`` adds to an answer about a row of ids."""
    kept = count_kept(since, ids)
    return {
        "new_ids": ids[kept:],
        "prefix_hash": prefix_hash(ids),
        "since": since.model_dump() if kept == since.count else None,
    }
