"""``GET /train-job/{id}/artifact`` and ``/report``: the archive of what a job published, and what its run tells."""

from __future__ import annotations

import hashlib
import tarfile
import zlib
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import orjson
from fastapi import FastAPI, Query, Request
from fastapi.responses import Response, StreamingResponse

from service.errors import ServiceError
from service.jobs.job import Artifact, ArtifactSize, JobStatus
from service.jobs.states import Kind
from service.registry.artifact_dirs import MANIFEST, damaged, verified
from service.registry.places import tokenizers_directory
from service.reports.training import charts
from service.routes.jobs.access import Access, caller
from service.routes.jobs.listing import JobId
from service.routes.json_route import PROBLEM_RESPONSES
from service.routes.server import Server
from service.schemas.training import JobReport
from service.state import ServerState
from tokenizer_core import ArtifactError

BLOCK_BYTES = 256 << 10
_LEVEL = 6
_GZIP = 16 + zlib.MAX_WBITS
"""A gzip frame; zlib writes no time and no name into its head."""

Size = Annotated[int | None, Query(description="One of the settings' `sizes`; by default the `vocab_size`.")]

_CONTENT = {"application/gzip": {"schema": {"type": "string", "format": "binary"}}}


async def job_artifact(request: Request, server: Server, access: Access, id: JobId, size: Size = None) -> Response:
    """Give the artifact of a job that has succeeded, as an archive whose bytes are always the same."""
    job = await access.run(access.jobs.status, id, caller(request).owner, Kind.TRAIN)
    artifact = of_size(published(job), size)
    place = tokenizers_directory(server.settings) / artifact.directory
    blocks = archive(place, artifact.directory, await access.run(verified_files, place, artifact.hash))
    first = await access.run(next, blocks)

    async def sent() -> AsyncIterator[bytes]:
        yield first
        while block := await access.run(next, blocks, b""):
            yield block

    headers = {
        "content-disposition": f'attachment; filename="{artifact.directory}.tar.gz"',
        "etag": f'"{artifact.hash}"',
    }
    return StreamingResponse(sent(), 200, headers, "application/gzip")


async def job_report(request: Request, access: Access, id: JobId) -> Any:
    """Tell what the run of a job that has succeeded counted and learned, what its tokens cost, and what to do."""
    job = await access.run(access.jobs.status, id, caller(request).owner, Kind.TRAIN)
    report = published(job).report
    seconds = round((job.finished_at or 0.0) - (job.started_at or 0.0), 3)
    # Jobs of earlier versions have numbers alone.
    drawn = charts({**report, "against": None}) if "fertility" in report else {}
    return {**report, "learning_seconds": report["seconds"], "seconds": seconds, "charts": drawn}


def mount(app: FastAPI, _: ServerState) -> None:
    """Declare the routes."""
    responses = PROBLEM_RESPONSES | {200: {"description": "A `tar.gz` of the artifact.", "content": _CONTENT}}
    app.get("/train-job/{id}/artifact", response_class=Response, responses=responses)(job_artifact)
    app.get("/train-job/{id}/report", response_model=JobReport, responses=PROBLEM_RESPONSES)(job_report)


def published(job: JobStatus) -> Artifact:
    """Return what a job published.

    Errors:
        ``no_artifact``
    """
    if job.artifact is None:
        way = "submit it again" if job.has_ended else "wait until it has succeeded"
        raise ServiceError("no_artifact", f"the job is {job.state} and has no artifact; {way}")
    return job.artifact


def of_size(artifact: Artifact, size: int | None) -> Artifact | ArtifactSize:
    """Return the artifact of another size.

    Errors:
        ``invalid_value``: the job made none of this size.
    """
    if size is None:
        return artifact
    for one in artifact.sizes:
        if one.size == size:
            return one
    made = ", ".join(str(one.size) for one in artifact.sizes) or "none"
    detail = f"size is one of the job's settings.sizes ({made}), or left away for its vocab_size; {size} is neither"
    raise ServiceError("invalid_value", detail, "query size")


def verified_files(place: Path, hash: str) -> dict[str, str]:
    """Verify an artifact, and return the hash of each of its files.

    Errors:
        ``no_artifact``: there is no directory with a manifest. ``artifact_damaged``
    """
    try:
        if not (place / MANIFEST).is_file():
            detail = "the artifact was removed from this server, or is none any more; submit the job again"
            raise ServiceError("no_artifact", detail)
        verified(place, hash)
    except ArtifactError as error:
        raise damaged(place, error) from error
    manifest = (place / MANIFEST).read_bytes()
    return {**orjson.loads(manifest)["files"], MANIFEST: f"sha256:{hashlib.sha256(manifest).hexdigest()}"}


def archive(directory: Path, name: str, hashes: Mapping[str, str]) -> Iterator[bytes]:
    """Pack the files of an artifact, in blocks: their names in order, no owners, no times.

    Args:
        hashes: those of the files, which are held against them again while they are read.
    """
    squeeze = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    packed = b""
    for part in _tar(directory, name, hashes):
        packed += squeeze.compress(part)
        if len(packed) >= BLOCK_BYTES:
            yield packed
            packed = b""
    yield packed + squeeze.flush()


def _tar(directory: Path, name: str, hashes: Mapping[str, str]) -> Iterator[bytes]:
    for file_name, hash in sorted(hashes.items()):
        with (directory / file_name).open("rb") as file:
            yield from _member(file, f"{name}/{file_name}", hash)
    yield bytes(2 * tarfile.BLOCKSIZE)


def _member(file: BinaryIO, name: str, hash: str) -> Iterator[bytes]:
    digest = hashlib.sha256()
    head = tarfile.TarInfo(name)
    head.size = left = file.seek(0, 2)
    file.seek(0)
    yield head.tobuf(tarfile.PAX_FORMAT)
    while left:
        block = file.read(min(left, BLOCK_BYTES))
        if not block:
            break
        left -= len(block)
        digest.update(block)
        yield block
    if hash != f"sha256:{digest.hexdigest()}":
        # Artifacts are never changed in place; were one, the archive must not look whole.
        raise OSError(f"{name} changed while it was read")
    yield bytes(-head.size % tarfile.BLOCKSIZE)
