"""``GET /tokenizers/{ref:reference}/check`` and ``POST /check``: the audit of a tokenizer that is loaded or sent."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import gettempdir
from typing import Annotated, Any

import orjson
from fastapi import FastAPI, Query, Request
from fastapi.responses import Response

import tokenizer_core
from service.admission.limits import Disconnected
from service.admission.threads import saturated
from service.errors import ServiceError
from service.http.compression import require_uncompressed
from service.http.json_body import declared_length
from service.job_process.auditing import ENVIRONMENT, SECONDS
from service.job_process.disk import written
from service.registry.incoming import CHECKS, incoming, sweep
from service.registry.served import ServedTokenizer
from service.routes.json_route import PROBLEM_RESPONSES
from service.routes.server import Server
from service.routes.tokenizers import Reference, find
from service.schemas.answers import CheckAnswer
from service.state import ServerState

AUDITING = (sys.executable, "-m", "service.job_process.auditing")
_BODY = {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}}

EmbeddingRows = Annotated[int | None, Query(ge=1, le=1 << 31, description="Rows of the model's embedding table.")]


async def check_tokenizer(
    request: Request, server: Server, ref: Reference, embedding_rows: EmbeddingRows = None
) -> Any:
    """Audit a tokenizer: what can go wrong, point by point, with the evidence. One audit runs at a time."""
    loaded = await find(server, ref)
    audits: asyncio.Lock = request.app.state.audits
    if audits.locked():
        raise saturated("another audit runs")
    async with audits:
        return await server.limits.in_thread(_audit, loaded, embedding_rows)


def _audit(loaded: ServedTokenizer, embedding_rows: int | None) -> dict[str, Any]:
    return tokenizer_core.check(loaded.tokenizer, path=loaded.path, embedding_rows=embedding_rows).to_dict()


async def check_upload(request: Request, server: Server) -> Response:
    """Audit a `tokenizer.json` that is the body, as one that is loaded. One audit runs at a time."""
    server.limits.admit()
    require_uncompressed(request.scope["headers"])
    length = declared_length(request.scope["headers"])
    audits: asyncio.Lock = request.app.state.audits
    if audits.locked():
        raise saturated("another audit runs")
    async with audits:
        try:
            chunks = await server.limits.read(length, request.receive, request.scope["log_entry"])
        except Disconnected:
            return Response(status_code=499)
        with written("uploads"):
            sweep(Path(gettempdir()), CHECKS)
            with incoming(Path(gettempdir()), CHECKS) as folder:
                # Its folder is the name of a tokenizer that has none.
                path = folder / "uploaded" / "tokenizer.json"
                await server.limits.in_thread(_write, path, chunks)
                told = await confined(str(path))
    if told is None:
        detail = f"the audit took more than {SECONDS} seconds or too much memory; run tokd check yourself"
        raise ServiceError("check_limit", detail)
    if "refused" in told:
        raise ServiceError("invalid_tokenizer", f"{told['code']}: {told['refused']}")
    return Response(orjson.dumps(told["audit"]), media_type="application/json")


def _write(path: Path, chunks: list[bytes]) -> None:
    path.parent.mkdir()
    path.write_bytes(b"".join(chunks))


async def confined(*arguments: str) -> dict[str, Any] | None:
    """Read a tokenizer in the process, until it ends, its time is over or the caller is gone.

    Returns:
        What it said, or ``None`` if it took too long or too much memory.

    Errors:
        ``saturated``: no process can be started now.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *AUDITING,
            *arguments,
            env={**os.environ, **ENVIRONMENT},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
    except (BlockingIOError, MemoryError):
        raise saturated("no process can be started now") from None
    try:
        async with asyncio.timeout(SECONDS):
            output, _ = await process.communicate()
    except TimeoutError:
        output = b""
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    if not output or process.returncode:
        return None
    told: dict[str, Any] = orjson.loads(output)
    return told


def mount(app: FastAPI, state: ServerState) -> None:
    """Declare the routes; the operator may not want the second."""
    app.state.audits = asyncio.Lock()
    app.get("/tokenizers/{ref:reference}/check", response_model=CheckAnswer, responses=PROBLEM_RESPONSES)(
        check_tokenizer
    )
    if state.settings.check_uploads:
        extra = {"requestBody": _BODY}
        app.post("/check", response_model=CheckAnswer, responses=PROBLEM_RESPONSES, openapi_extra=extra)(check_upload)
