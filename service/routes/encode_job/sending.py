"""Send a file, or a part of it, block by block."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import BinaryIO

from fastapi.responses import Response, StreamingResponse

from service.errors import ServiceError
from service.routes.jobs.access import JobAccess

BLOCK_BYTES = 256 << 10

_RANGE = re.compile(r"bytes=(?:([0-9]{1,18})-([0-9]{0,18})|-([0-9]{1,18}))")


async def sent_file(access: JobAccess, path: Path, hash: str | None, media_type: str, range: str | None) -> Response:
    """Return what sends a file, or the part that ``range`` names; ranges of another form or several are not heeded.

    Errors:
        ``no_artifact``: there is no such file. ``range_not_satisfiable``
    """
    try:
        file: BinaryIO = await access.run(lambda: path.open("rb"))
    except OSError:
        raise removed() from None
    try:
        size = await access.run(file.seek, 0, 2)
        found = None if range is None else _RANGE.fullmatch(range)
        start, stop = (0, size) if found is None else _part(found, size)
        await access.run(file.seek, start)
    except BaseException:
        file.close()
        raise

    async def blocks() -> AsyncIterator[bytes]:
        left = stop - start
        try:
            while left:
                block = await access.run(file.read, min(left, BLOCK_BYTES))
                if not block:
                    raise OSError(f"{path.name} was cut short while it was read")
                left -= len(block)
                yield block
        finally:
            file.close()

    headers = {"content-length": str(stop - start), "accept-ranges": "bytes"}
    if hash is not None:
        headers["etag"] = f'"{hash}"'
    if found is not None:
        headers["content-range"] = f"bytes {start}-{stop - 1}/{size}"
    return StreamingResponse(blocks(), 200 if found is None else 206, headers, media_type)


def removed() -> ServiceError:
    """Say that what a job wrote is there no more."""
    return ServiceError("no_artifact", "the files were removed from this server, or are damaged; submit the job again")


def _part(found: re.Match[str], size: int) -> tuple[int, int]:
    """Return the first byte of a part, and the one behind the last.

    Errors:
        ``range_not_satisfiable``
    """
    first, last, suffix = found.groups()
    start, stop = (max(0, size - int(suffix)), size) if first is None else (int(first), size)
    if last:
        stop = min(int(last) + 1, size)
    if start >= stop:
        raise ServiceError(
            "range_not_satisfiable",
            f"the file has {size} bytes, and this part has none of them",
            "header range",
            headers=((b"content-range", f"bytes */{size}".encode("ascii")),),
        )
    return start, stop
