"""Ids as bare bytes: four little-endian bytes an id, the length of every row of a list in a header.

Where hashes of blocks are asked for, they stand in place of the ids: eight bytes each.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from service.errors import ServiceError
from service.http import media
from service.http.response_json import Answer, Block, Rows
from service.registry.served import ServedTokenizer
from service.request_log import Trace

TOKENIZER = "tokd-tokenizer"
TEMPLATE = "tokd-template"

MAX_ROWS = 512
"""Rows whose lengths fit into a header that every proxy lets through."""


def write(
    loaded: ServedTokenizer, text: str | list[str], rows: Rows, tokens: int, *, template: str | None = None
) -> Answer:
    """Write the ids of rows one after the other; arguments as of ``answers.write``.

    Errors:
        ``invalid_option``: something other than ids is asked for. ``too_many_items``
    """
    if "ids" not in rows or rows.keys() - {"ids", "count", "block_hashes"}:
        raise ServiceError("invalid_option", f"{media.OCTETS} holds ids alone; ask for ids, or for JSON", "return")
    hashes = rows.get("block_hashes")
    ids = list(rows["ids"]) if hashes is None else [_numbers(each["blocks"]) for each in hashes]
    headers: Trace = ()
    if not isinstance(text, str):
        if len(ids) > MAX_ROWS:
            detail = f"{len(ids)} rows are more than the {MAX_ROWS} whose lengths a header holds; take {media.ARROW}"
            raise ServiceError("too_many_items", detail, "header accept")
        lengths = ",".join(str(len(row)) for row in ids)
        headers = ((media.ROW_LENGTHS.encode("ascii"), lengths.encode("ascii")),)
    kind = "<u4" if hashes is None else "<u8"
    blocks = np.concatenate([np.zeros(0, kind), *ids], dtype=kind, casting="unsafe").view(np.uint8)
    return answer(loaded, blocks, tokens, template, headers)


def answer(loaded: ServedTokenizer, ids: Block, tokens: int, template: str | None = None, more: Trace = ()) -> Answer:
    """Return the answer with these bytes and headers; ``template`` as of ``answers.write``."""
    headers = [*loaded.headers, (TOKENIZER.encode("ascii"), loaded.hash.encode("ascii"))]
    if template is not None:
        headers.append((TEMPLATE.encode("ascii"), template.encode("ascii")))
    return Answer([ids], tokens, loaded.hash, media.OCTETS.encode("ascii"), (*headers, *more))


def _numbers(values: list[str]) -> npt.NDArray[np.uint64]:
    """Return hashes as they are in memory, also those that are signed."""
    return np.array([int(value) & (1 << 64) - 1 for value in values], np.uint64)
