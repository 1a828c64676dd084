"""The hashes of the blocks of rows of ids, for every route that answers with ids."""

from __future__ import annotations

from typing import Any

from service.errors import ServiceError, from_core
from service.routes.texts import Ids
from service.schemas.fields import Object
from tokenizer_core import TokdError, block_hashes

FIELD = "block_hashes"
_REQUIRED = ("scheme", "block_size")


def hashes_of(options: Object, ids: Ids, kept: int = 0) -> dict[str, Any]:
    """Return the hashes of one row as ``BlockHashesOfRow`` has them, but for blocks of the first ``kept`` ids alone.

    Errors:
        ``missing_field``; ``invalid_option`` at the option of ``block_hashes``
    """
    rest = dict(options)
    try:
        scheme, size = (rest.pop(name) for name in _REQUIRED)
    except KeyError as missing:
        raise ServiceError("missing_field", "this field is required", f"{FIELD}.{missing.args[0]}") from None
    if "ids" in rest:
        raise ServiceError("invalid_option", "the ids are those of the answer; leave this out", f"{FIELD}.ids")
    try:
        found = block_hashes(ids, scheme=scheme, block_size=size, **rest)
    except TokdError as error:
        field = error.place.get("field")
        if isinstance(field, str):
            error.place["field"] = f"{FIELD}.{field}"
        raise from_core(error, FIELD) from error
    first = kept // found.block_size
    row: dict[str, Any] = {
        "scheme": found.scheme,
        "block_size": found.block_size,
        "blocks": list(map(str, found.values[first:].tolist())),
    }
    if found.digests is not None:
        row["digests"] = [bytes(digest).hex() for digest in found.digests[first:]]
    if found.sequence is not None:
        row["sequence"] = list(map(str, found.sequence[first:].tolist()))
    return row
