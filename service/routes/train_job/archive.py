"""``GET /train-job/{id}/artifact`` and ``/report``: the archive of what a job published, and what its run tells."""

from __future__ import annotations

import tarfile
import zlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from fastapi import FastAPI, Request
from fastapi.responses import Response, StreamingResponse

from service.errors import ServiceError
from service.jobs import Artifact, JobStatus
from service.routes.json_route import PROBLEM_RESPONSES
from service.routes.train_job.access import JobAccess, caller
from service.routes.train_job.jobs import JobId
from service.schemas.training import JobReport
from service.state import State
from service.tokenizers.places import MANIFEST
from service.tokenizers.trained import trained_directory

BLOCK_BYTES = 256 << 10
_LEVEL = 6
_GZIP = 16 + zlib.MAX_WBITS
"""A gzip frame; zlib writes no time and no name into its head."""

_CONTENT = {"application/gzip": {"schema": {"type": "string", "format": "binary"}}}


def mount(app: FastAPI, state: State, access: JobAccess) -> None:
    """Declare the route."""
    target = trained_directory(state.settings)

    @app.get(
        "/train-job/{id}/artifact",
        response_class=Response,
        responses=PROBLEM_RESPONSES | {200: {"description": "A `tar.gz` of the artifact.", "content": _CONTENT}},
    )
    async def job_artifact(request: Request, id: JobId) -> Response:
        """Give the artifact of a job that has succeeded, as an archive whose bytes are always the same."""
        job = await access.run(access.jobs.status, id, caller(request).owner)
        artifact = published(job)
        blocks = archive(target / artifact.directory, artifact.directory)
        try:
            first = await access.run(next, blocks)
        except FileNotFoundError:
            detail = "the artifact was removed from this server, or is none any more; submit the job again"
            raise ServiceError("no_artifact", detail) from None

        async def sent() -> AsyncIterator[bytes]:
            yield first
            while block := await access.run(next, blocks, b""):
                yield block

        headers = {
            "content-disposition": f'attachment; filename="{artifact.directory}.tar.gz"',
            "etag": f'"{artifact.hash}"',
        }
        return StreamingResponse(sent(), 200, headers, "application/gzip")

    @app.get("/train-job/{id}/report", response_model=JobReport, responses=PROBLEM_RESPONSES)
    async def job_report(request: Request, id: JobId) -> Any:
        """Tell what the run of a job that has succeeded counted and learned."""
        return published(await access.run(access.jobs.status, id, caller(request).owner)).report


def published(job: JobStatus) -> Artifact:
    """Return what a job published.

    Errors:
        ``no_artifact``
    """
    if job.artifact is None:
        way = "submit it again" if job.has_ended else "wait until it has succeeded"
        raise ServiceError("no_artifact", f"the job is {job.state} and has no artifact; {way}")
    return job.artifact


def archive(directory: Path, name: str) -> Iterator[bytes]:
    """Pack the files of an artifact, in blocks: their names in order, no owners, no times.

    Raises:
        FileNotFoundError: this is not a directory with a manifest.
    """
    if not (directory / MANIFEST).is_file():
        raise FileNotFoundError(directory / MANIFEST)
    squeeze = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    packed = b""
    for part in _tar(directory, name):
        packed += squeeze.compress(part)
        if len(packed) >= BLOCK_BYTES:
            yield packed
            packed = b""
    yield packed + squeeze.flush()


def _tar(directory: Path, name: str) -> Iterator[bytes]:
    for path in sorted(directory.iterdir()):
        if path.is_symlink() or not path.is_file():
            continue
        with path.open("rb") as file:
            yield from _member(file, f"{name}/{path.name}")
    yield bytes(2 * tarfile.BLOCKSIZE)


def _member(file: BinaryIO, name: str) -> Iterator[bytes]:
    head = tarfile.TarInfo(name)
    head.size = left = file.seek(0, 2)
    file.seek(0)
    yield head.tobuf(tarfile.PAX_FORMAT)
    while left:
        block = file.read(min(left, BLOCK_BYTES))
        if not block:
            # Artifacts are never changed in place; were one cut, the archive must not look whole.
            raise OSError(f"{name} became shorter while it was read")
        left -= len(block)
        yield block
    yield bytes(-head.size % tarfile.BLOCKSIZE)
