"""``POST /train-job``, and of other kinds: a request becomes a checked recipe, and the recipe a queued job."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson
from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.responses import JSONResponse
from starlette.types import Receive

from service.admission.limits import Disconnected
from service.admission.threads import saturated
from service.auth.identity import Identity
from service.errors import ServiceError
from service.http.compression import require_uncompressed
from service.http.json_body import declared_length, require_json
from service.http.multipart import boundary_of
from service.jobs.job import Job, JobRequest, Prepared
from service.request_log import LogEntry
from service.routes.jobs import corpora
from service.routes.jobs.access import Access, JobAccess, caller
from service.routes.jobs.documented import request_body
from service.routes.jobs.kind import JobKind, job_path
from service.routes.jobs.uploads import Upload, receive_upload, require_room
from service.routes.json_route import PROBLEM_RESPONSES
from service.state import ServerState

MULTIPART = b"multipart/form-data"
MAX_UPLOADS = 8
"""Uploads that one process takes at once."""

_KEY = re.compile(r"[!-~]{1,200}")


def mount(app: FastAPI, state: ServerState, of: JobKind) -> None:
    """Declare the route of a kind."""
    submission = Submission(state, app.state.job_access, of)

    async def submit_job(request: Request, access: Access) -> Response:
        """Queue a job, from JSON or from a form with a corpus file; `Location` says where it is.

        With the header `Idempotency-Key` the same request can be sent again and is one job.
        """
        try:
            job = await submission.take(request, request.scope["log_entry"], request.receive)
        except Disconnected:
            return Response(status_code=499)
        root = access.link_root
        return JSONResponse(of.answer(job, root), 202, {"location": job_path(job, root)})

    app.post(
        of.path,
        name=f"submit_{of.kind}_job",
        status_code=202,
        response_model=of.answer_model,
        responses=PROBLEM_RESPONSES,
        openapi_extra={"requestBody": request_body(of.request_model, of.words)},
    )(submit_job)


class Submission:
    """Turns requests into queued jobs of one kind."""

    def __init__(self, state: ServerState, access: JobAccess, of: JobKind) -> None:
        self._settings, self._limits, self._access = state.settings, state.limits, access
        self._kind, self._recipes = of.kind, of.recipes
        self._uploads = 0

    async def take(self, request: Request, log_entry: LogEntry, receive: Receive) -> Job:
        """Read a request, whatever its kind, and queue its job."""
        self._limits.admit()
        self._access.refuse_other_sites(request)
        sender = Sender(caller(request), idempotency_key(request.headers.getlist("idempotency-key")))
        media_type = request.headers.get("content-type", "").encode("latin-1")
        require_uncompressed(request.scope["headers"])
        length = declared_length(request.scope["headers"], _require_json_or_form)
        if not media_type.lower().startswith(MULTIPART):
            chunks = await self._limits.read(length, receive, log_entry)
            return await self._access.run(self._queue_json, chunks, sender)
        _refuse_foreign_forms(request)
        boundary = boundary_of(media_type)
        if self._uploads >= MAX_UPLOADS:
            raise saturated(f"{MAX_UPLOADS} uploads are under way")
        self._uploads += 1
        try:
            return await self._take_form(boundary, length, sender, log_entry, receive)
        finally:
            self._uploads -= 1

    async def _take_form(
        self, boundary: bytes, length: int | None, sender: Sender, log_entry: LogEntry, receive: Receive
    ) -> Job:
        prepared = await self._access.run(self._access.jobs.prepare)
        upload = Upload(
            directory=prepared.directory,
            boundary=boundary,
            max_bytes=self._settings.max_corpus_bytes,
            min_free_bytes=self._settings.min_free_bytes,
            recipes=self._recipes,
        )
        queued = False
        try:
            await receive_upload(upload, length, self._access, self._settings, receive, log_entry)
            job = await self._access.run(self._queue_form, upload, prepared, sender)
            queued = True
            return job
        finally:
            upload.close()
            if not queued:
                # Not in a thread: a request that is cancelled must not wait, and has to leave nothing.
                self._access.jobs.discard(prepared)

    def _queue_json(self, chunks: Sequence[bytes], sender: Sender) -> Job:
        body = b"".join(chunks)
        request = self._recipes.parse(body)
        corpora.check(request.corpus, self._settings)
        if request.corpus.texts is None:
            recipe = self._recipes.make(request, corpora.described(request.corpus))
            return self._queue(sender, recipe, request.name)
        prepared = self._access.jobs.prepare()
        try:
            path = prepared.directory / "corpus.jsonl"
            recipe = self._recipes.make(request, {"paths": [str(path)]})
            require_room(path.parent, len(body), self._settings.min_free_bytes)
            hashed = corpora.store(request.corpus.texts, path, self._settings.max_corpus_bytes)
            return self._queue(sender, recipe, request.name, prepared, [hashed])
        except BaseException:
            self._access.jobs.discard(prepared)
            raise

    def _queue_form(self, upload: Upload, prepared: Prepared, sender: Sender) -> Job:
        words = upload.words()
        corpus = upload.corpus(words)
        request = self._recipes.of_form(bytes(upload.fields.get("settings", b"{}")), words)
        recipe = self._recipes.make(request, corpus, form=True)
        return self._queue(
            sender, recipe, words.get("name"), prepared, [stored.hash + stored.suffix for stored in upload.files]
        )

    def _queue(
        self,
        sender: Sender,
        recipe: dict[str, Any],
        name: str | None,
        prepared: Prepared | None = None,
        hashes: Sequence[str] = (),
    ) -> Job:
        fingerprint = None
        if prepared is not None:
            # The files lie elsewhere each time, so what is in them stands for them.
            same = {**recipe, "corpus": {**recipe["corpus"], "paths": sorted(hashes)}}
            fingerprint = hashlib.sha256(orjson.dumps(same, option=orjson.OPT_SORT_KEYS)).hexdigest()
        job, _ = self._access.jobs.submit(
            JobRequest(
                kind=self._kind,
                recipe=recipe,
                owner=sender.identity.name,
                name=name,
                idempotency_key=sender.key,
                prepared=prepared,
                fingerprint=fingerprint,
            )
        )
        return job


class Sender(NamedTuple):
    """The sender of a request, and the key under which it is one job."""

    identity: Identity
    key: str | None


def idempotency_key(values: Sequence[str]) -> str | None:
    """Read the header.

    Errors:
        ``invalid_value``
    """
    if not values:
        return None
    if len(values) > 1 or _KEY.fullmatch(values[0]) is None:
        raise ServiceError(
            "invalid_value", "a key is 1 to 200 visible ASCII characters, and there is one", "header idempotency-key"
        )
    return values[0]


def _require_json_or_form(media_type: bytes) -> None:
    kind = media_type.partition(b";")[0].strip().lower()
    if kind == MULTIPART:
        return
    if kind != b"application/json":
        raise ServiceError(
            "unsupported_media_type",
            "send application/json, or multipart/form-data with a corpus file, as curl -F corpus=@file does",
            "header content-type",
            headers=((b"accept", b"application/json, multipart/form-data"),),
        )
    require_json(media_type)


def _refuse_foreign_forms(request: Request) -> None:
    """Refuse a form that a page of another site sends from somebody's browser: it would need no permission to."""
    origin = request.headers.get("origin")
    if origin is not None and origin.partition("://")[2] != request.headers.get("host"):
        raise ServiceError("page_not_allowed", "pages of other sites may not submit jobs", "header origin")
