"""``GET /encode-job/{id}/manifest`` and ``/files/{name}``: what a job wrote."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import FastAPI, Header, Request
from fastapi import Path as InPath
from fastapi.responses import Response

from service.errors import ServiceError, quote
from service.jobs.states import Kind
from service.registry.places import encoded_directory
from service.routes.encode_job.sending import removed, sent_file
from service.routes.jobs.access import Access, JobAccess, caller
from service.routes.jobs.listing import JobId
from service.routes.json_route import PROBLEM_RESPONSES
from service.routes.server import Server
from service.schemas.encode_jobs import TokenFilesManifest
from service.state import ServerState
from tokenizer_core import InvalidCorpus, TokenFiles, read_token_files

MANIFEST = "manifest.json"
_CONTENT = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
Range = Annotated[str | None, Header(description="One part of the file, as `bytes=0-1023`.")]
FileName = Annotated[
    str,
    InPath(
        description="The name of a file, as the manifest has it.",
        examples=["tokens-00000.bin"],
    ),
]


async def job_manifest(request: Request, server: Server, access: Access, id: JobId) -> Response:
    """Give the manifest of what a job that has succeeded wrote."""
    written, hash = await access.run(_written, access, server, caller(request).owner, id)
    return await sent_file(access, written.path / MANIFEST, hash, "application/json", None)


async def job_file(
    request: Request, server: Server, access: Access, id: JobId, name: FileName, range: Range = None
) -> Response:
    """Give one of the files that a job wrote, or with `Range` a part of it; its `ETag` is its hash."""
    written, _ = await access.run(_written, access, server, caller(request).owner, id)
    hashes = file_hashes(written)
    if name not in hashes:
        raise ServiceError("file_not_found", f"the job wrote no file {quote(name)}; its manifest names those it wrote")
    return await sent_file(access, written.path / name, hashes[name], "application/octet-stream", range)


def _written(access: JobAccess, server: ServerState, owner: str | None, id: str) -> tuple[TokenFiles, str]:
    """Return what a job wrote, and the hash of its manifest.

    Errors:
        ``job_not_found``, ``no_artifact``
    """
    job = access.jobs.status(id, owner, Kind.ENCODE)
    if job.artifact is None:
        way = "submit it again" if job.has_ended else "wait until it has succeeded"
        raise ServiceError("no_artifact", f"the job is {job.state} and wrote no files; {way}")
    try:
        return read_token_files(encoded_directory(server.settings) / job.artifact.directory), job.artifact.hash
    except InvalidCorpus:
        raise removed() from None


def mount(app: FastAPI, _: ServerState) -> None:
    """Declare the routes."""
    manifest: dict[int | str, dict[str, Any]] = {200: {"model": TokenFilesManifest, "description": "The manifest."}}
    file: dict[int | str, dict[str, Any]] = {
        200: {"description": "The file.", "content": _CONTENT},
        206: {"description": "A part of the file.", "content": _CONTENT},
    }
    path = "/encode-job/{id}"
    app.get(f"{path}/manifest", response_class=Response, responses=PROBLEM_RESPONSES | manifest)(job_manifest)
    app.get(f"{path}/files/{{name}}", response_class=Response, responses=PROBLEM_RESPONSES | file)(job_file)


def file_hashes(written: TokenFiles) -> dict[str, str | None]:
    """Return the files that there are, with the hashes that the manifest has of them."""
    shards = {each["name"]: f"sha256:{each['sha256']}" for shard in written.shards for each in shard.files.values()}
    return shards | dict.fromkeys([*written.manifest["index"], MANIFEST])
