"""``POST``, ``PUT`` and ``DELETE`` below ``/tokenizers``: tokenizers and aliases that come and go at run time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any, TypeVar

from fastapi import FastAPI, Query, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from service.admission.limits import Disconnected
from service.admission.threads import Threads
from service.errors import ServiceError, from_core, quote
from service.hot_reload import HotReload
from service.http.compression import require_uncompressed
from service.http.json_body import Parse, declared_length, parser, require_json
from service.job_process.auditing import SECONDS, opened
from service.job_process.disk import written
from service.registry.incoming import UPLOADS, incoming
from service.registry.registry import require_name
from service.registry.served import ServedTokenizer
from service.registry.unpacking import unpack
from service.request_log import LogEntry
from service.routes.check import confined
from service.routes.jobs.access import Access, JobAccess
from service.routes.jobs.uploads import in_steps, require_room
from service.routes.json_route import PROBLEM_RESPONSES
from service.routes.server import Server
from service.routes.tokenizers import Reference, described, find
from service.schemas.answers import TokenizerInfo
from service.settings import Settings
from service.state import ServerState
from tokenizer_core import TokdError, Tokenizer

ARCHIVES = ("application/gzip", "application/x-tar", "application/zip")
_HUB = "hf:"
_MAX_LISTED = 10_000
_BESIDE = ("*.json", "*.jinja", "merges.txt", "additional_chat_templates/*")

T = TypeVar("T")

Name = Annotated[str | None, Query(description="The name of a tokenizer whose archive is the body.")]


class AddTokenizerRequest(BaseModel):
    """A tokenizer to serve."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str = Field(description="Its name from now on.")
    source: str = Field(
        description="An absolute path below a directory of the setting `tokenizer_roots`, `hf:ORG/NAME[@REVISION]`, or "
        "a reference to a tokenizer of this server, such as a trained one's hash.",
        max_length=4096,
    )


class AliasRequest(BaseModel):
    """What an alias means."""

    model_config = ConfigDict(extra="forbid", strict=True)

    tokenizer: str = Field(description="A name or hash of a tokenizer that is loaded.")


class Changes:
    """The routes' work: one change at a time in threads of its own, a few waiting."""

    def __init__(self, settings: Settings, hot_reload: HotReload, access: JobAccess) -> None:
        self.hot_reload, self.access = hot_reload, access
        self._settings = settings
        self.parse_addition, self.parse_alias = parser(AddTokenizerRequest), parser(AliasRequest)
        self._reading = asyncio.Lock()
        threads = Threads(
            1, max_queue=16, queue_seconds=settings.queue_seconds, name="tokd-changes", what="changes of tokenizers"
        )
        self.run = threads.run
        """Do work in the thread of changes."""

    @contextmanager
    def incoming(self) -> Iterator[Path]:
        """Give a directory for what arrives, and remove it in the end.

        Errors:
            ``disk_full``, ``disk_unwritable``: also of what is done in it.
        """
        with written("tokenizers"), incoming(self.hot_reload.directory.added, UPLOADS) as made:
            yield made

    def add_source(self, name: str, source: str, trained: ServedTokenizer | None) -> ServedTokenizer:
        """Add what a source names: a path, a repository of the hub, or a trained tokenizer, which is given."""
        with self.incoming() as made:
            if trained is not None:
                tokenizer = trained.tokenizer
            elif source.startswith(_HUB):
                tokenizer = self._read(source, "source")
            else:
                tokenizer = self._read(str(self._allowed(source)), "source")
            return self._add(name, tokenizer, made)

    async def add_archive(self, name: str, packed: Path) -> ServedTokenizer:
        """Add what an archive holds, once a process with bounds has read it: whoever packed it is not trusted."""
        files = packed.parent / "files"
        await self.run(self._unpack, packed, files)
        async with self._reading:
            told = await confined(str(files), "load")
        if told is None or "refused" in told:
            wrong = (
                f"reading it took more than {SECONDS} seconds or too much memory" if told is None else told["refused"]
            )
            raise _unusable(wrong, None)
        return await self.run(lambda: self._add(name, self._read(str(files), None), packed.parent))

    def _unpack(self, packed: Path, files: Path) -> None:
        files.mkdir()
        unpack(packed, files, self._settings.max_tokenizer_bytes)
        packed.unlink()

    def _add(self, name: str, tokenizer: Tokenizer, made: Path) -> ServedTokenizer:
        try:
            return self.hot_reload.add(name, tokenizer, made / "artifact")
        except TokdError as error:
            raise from_core(error) from error

    def _read(self, path: str, field: str | None) -> Tokenizer:
        try:
            return opened(path)
        except TokdError as error:
            raise _unusable(error.message.replace(path, "it"), field) from None
        except OSError as error:
            if error.strerror is None or path.startswith(_HUB):
                raise
            raise _unusable(error.strerror.lower(), field) from None

    def _allowed(self, source: str) -> Path:
        detail = f"{quote(source)} is not below a directory of the setting tokenizer_roots; name an absolute path there"
        forbidden = ServiceError("path_forbidden", detail, "source")
        if "\0" in source:
            raise forbidden
        roots = [Path(root).resolve() for root in self._settings.tokenizer_roots]
        try:
            found = Path(source).resolve()
            # A link in a directory would be read like the file that it means; so are files beside one.
            patterns = ("**/*",) if found.is_dir() else _BESIDE
            directory = found if found.is_dir() else found.parent
            files = islice(chain.from_iterable(map(directory.glob, patterns)), _MAX_LISTED)
            for each in (found, *files):
                if not any(each.resolve().is_relative_to(root) for root in roots):
                    raise forbidden
        except (OSError, RuntimeError):
            # A name that is too long, a directory that may not be read, links in a circle.
            raise forbidden from None
        return found


def _unusable(wrong: str, field: str | None) -> ServiceError:
    return ServiceError("artifact_unusable", f"this is no tokenizer to serve: {wrong}", field)


async def add_tokenizer(request: Request, server: Server, access: Access, name: Name = None) -> Response:
    """Serve another tokenizer from now on, in all processes and after a restart.

    Send JSON with a name and a source, or an archive (`tar`, `tar.gz`, `zip`) with the name in the query.
    """
    changes: Changes = request.app.state.changes
    access.refuse_other_sites(request)
    server.limits.admit()
    try:
        loaded = await _add(changes, server, request, name)
    except Disconnected:
        return Response(status_code=499)
    location = f"{access.link_root}/tokenizers/{loaded.name}"
    return JSONResponse(described(server.current.state, loaded), 201, {"location": location})


async def point_alias(request: Request, server: Server, access: Access, ref: Reference) -> Any:
    """Let an alias mean a tokenizer from now on: a new alias, or one that meant another."""
    changes: Changes = request.app.state.changes
    access.refuse_other_sites(request)
    require_name(ref, "tokenizer", model=True)
    try:
        body = await _json(server, request, changes.parse_alias)
    except Disconnected:
        return Response(status_code=499)
    loaded = await find(server, body.tokenizer)
    if loaded.is_trained:
        detail = "this tokenizer is served only as a trained one; first add it by POST /tokenizers, with it as source"
        raise ServiceError("invalid_value", detail, "tokenizer")
    loaded = await changes.run(changes.hot_reload.point, ref, body.tokenizer)
    return described(server.current.state, loaded)


async def remove_tokenizer(request: Request, access: Access, ref: Reference) -> Response:
    """Stop serving a tokenizer that was added, or remove an alias; requests under way are answered by it still."""
    changes: Changes = request.app.state.changes
    access.refuse_other_sites(request)
    await changes.run(changes.hot_reload.remove, ref)
    return Response(status_code=204)


def mount(app: FastAPI, state: ServerState) -> None:
    """Declare the routes."""
    app.state.changes = Changes(state.settings, app.hot_reload, app.state.job_access)  # type: ignore[attr-defined]
    binary = {"schema": {"type": "string", "format": "binary"}}
    taken = {"summary": "a name that is taken is refused", "value": {"name": "base", "source": "base"}}
    json = {"schema": AddTokenizerRequest.model_json_schema(), "examples": {"taken": taken}}
    bodies = {"application/json": json, **dict.fromkeys(ARCHIVES, binary)}
    app.post(
        "/tokenizers",
        status_code=201,
        response_model=TokenizerInfo,
        responses=PROBLEM_RESPONSES,
        openapi_extra={"requestBody": {"required": True, "content": bodies}},
    )(add_tokenizer)
    named = {"summary": "an alias is no name that is taken", "value": {"tokenizer": "base"}}
    alias = {"application/json": {"schema": AliasRequest.model_json_schema(), "examples": {"taken": named}}}
    app.put(
        "/tokenizers/{ref:reference}",
        response_model=TokenizerInfo,
        responses=PROBLEM_RESPONSES,
        openapi_extra={"requestBody": {"required": True, "content": alias}},
    )(point_alias)
    app.delete("/tokenizers/{ref:reference}", status_code=204, response_class=Response, responses=PROBLEM_RESPONSES)(
        remove_tokenizer
    )


async def _add(changes: Changes, server: ServerState, request: Request, name: str | None) -> ServedTokenizer:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type in ARCHIVES:
        require_uncompressed(request.scope["headers"])
        length = declared_length(request.scope["headers"], lambda _: None)
        if name is None:
            raise ServiceError("missing_field", "name the tokenizer whose archive this is: ?name=...", "query name")
        require_name(name, "query name")
        with changes.incoming() as made:
            packed = made / "packed"
            await _receive(changes, server.settings, length, request, packed)
            return await changes.add_archive(name, packed)
    if name is not None:
        raise ServiceError("invalid_option", "the name of a source stands in the body", "query name")
    body = await _json(server, request, changes.parse_addition)
    require_name(body.name, "name")
    trained = None
    if not body.source.startswith((_HUB, "/")):
        try:
            trained = await find(server, body.source)
        except ServiceError as error:
            error.detail += f"; a repository of the hub is named hf:{quote(body.source)[1:-1]}"
            raise
    return await changes.run(changes.add_source, body.name, body.source, trained)


async def _json(server: ServerState, request: Request, parse: Parse) -> Any:
    log_entry: LogEntry = request.scope["log_entry"]
    require_uncompressed(request.scope["headers"])
    length = declared_length(request.scope["headers"], require_json)
    return parse(b"".join(await server.limits.read(length, request.receive, log_entry)))


async def _receive(changes: Changes, settings: Settings, length: int | None, request: Request, packed: Path) -> None:
    """Write an archive to the disk as it comes.

    Errors:
        ``body_too_large``, ``disk_full``, ``request_timeout``

    Raises:
        Disconnected
    """
    log_entry: LogEntry = request.scope["log_entry"]
    most = settings.max_tokenizer_bytes
    too_large = ServiceError("body_too_large", f"the archive is larger than {most} bytes (max_tokenizer_bytes)")
    if length is not None and length > most:
        raise too_large

    def store(data: bytes) -> None:
        require_room(packed.parent, len(data), settings.min_free_bytes)
        with packed.open("ab") as file:
            file.write(data)

    try:
        async with asyncio.timeout(settings.upload_seconds):
            in_thread, pause = partial(changes.access.run, store), settings.body_seconds
            await in_steps(request.receive, log_entry, in_thread, most=most, too_large=too_large, pause=pause)
    except TimeoutError:
        raise ServiceError("request_timeout", "the archive did not arrive in time; send it faster") from None
