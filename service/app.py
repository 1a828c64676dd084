"""The application: ``create_app(settings)`` loads and verifies the artifacts and declares the routes."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.admission.limits import Limits
from service.auth.guard import Guard
from service.auth.hosts import Hosts
from service.auth.route_scopes import ANY_HOST, OPEN, need_of
from service.errors import Dialect, Refusal, ServiceError, from_query, from_status, refusal
from service.hot_reload import HotReload
from service.http.asgi_request import REFUSED, WRITE_WHOLE
from service.http.cors import open_to
from service.jobs.opening import open_jobs
from service.pipeline import Gate, KernelRoute, Pipeline
from service.registry.engines import Engines
from service.request_log import LogEntry, Trace
from service.routes import (
    check,
    compare,
    count,
    decode,
    docs,
    encode,
    encode_job,
    explain,
    health,
    jobs,
    offsets,
    pack,
    parse,
    playground,
    render,
    tokenizer_changes,
    tokenizers,
    train_job,
)
from service.routes.compat import (
    anthropic,
    derender_chat,
    derender_completions,
    engine_probes,
    openai,
    render_chat,
    render_completions,
    render_messages,
    render_responses,
    sglang,
    vllm,
)
from service.routes.jobs.documented import request_schemas
from service.routes.json_route import JsonRoute, refuse, send_refusal
from service.schemas.answers import ProblemAnswer
from service.schemas.encode_jobs import EncodeJobRequest
from service.schemas.training import TrainJobRequest
from service.settings import Settings
from service.state import CurrentState, ServerState
from service.telemetry.access_log import AccessLog
from service.telemetry.metrics import Metrics
from tokenizer_core import VERSION, TokdError

GAUGE_SECONDS = 1.0
"""Maximum age of the gauges of a process that answers no requests."""

FOLLOW_SECONDS = 0.25
"""Time until a process looks again at what was added or removed elsewhere."""

_ROUTES = (
    encode,
    decode,
    offsets,
    pack,
    count,
    render,
    parse,
    explain,
    compare,
    vllm,
    sglang,
    openai,
    anthropic,
    render_chat,
    render_completions,
    render_messages,
    render_responses,
    derender_chat,
    derender_completions,
    engine_probes,
    # Before the route whose path covers this one.
    check,
    tokenizers,
    # Before what asks for the callers of jobs.
    jobs,
    train_job,
    encode_job,
    tokenizer_changes,
    health,
    docs,
    playground,
)


def create_app(settings: Settings | None = None) -> App:
    """Build a server's application; it is ready when this returns.

    Raises:
        InvalidSetting, and those of ``Tokenizer.open``: an artifact that is not what its manifest pins is not served.
    """
    settings = Settings.load() if settings is None else settings
    current = CurrentState()
    hot_reload = HotReload(current, settings)
    registry = hot_reload.open(settings)
    engines = Engines(settings)
    metrics = Metrics(
        registry.loaded, current.tokenizers, current.trained, hot_reload.segments, by_key=settings.metrics_by_key
    )
    metrics.engine_literals.set(engines.engine_literals)
    limits = Limits(settings, metrics.queue_seconds.observe)
    guard = Guard(settings.keys, metrics.note_keys, Hosts.of(settings), settings.workers)
    access_log = AccessLog(sys.stdout.buffer, metrics.dropped.inc) if settings.access_log else None
    return App(
        ServerState(
            current=current,
            settings=settings,
            registry=registry,
            engines=engines,
            jobs=open_jobs(settings),
            limits=limits,
            metrics=metrics,
            guard=guard,
            access_log=access_log,
            pipeline=Pipeline(settings, limits, guard, metrics, access_log),
        ),
        hot_reload,
    )


class App(FastAPI):
    """FastAPI behind one gate that every request passes: it counts, logs, and hands hot routes their requests."""

    def __init__(self, state: ServerState, hot_reload: HotReload) -> None:
        super().__init__(
            title="tokd",
            summary="Text to token ids and back, exactly as the model's own tokenizer does.",
            version=VERSION,
            openapi_url=None,
            docs_url=None,
            redoc_url=None,
            redirect_slashes=False,
            lifespan=_lifespan,
            generate_unique_id_function=lambda route: route.name,
        )
        self.read_settings: Callable[[], Settings] | None = None
        """Reads the settings again at SIGHUP, in a server that handles it."""
        self._current, self.hot_reload, self.link_root = state.current, hot_reload, state.settings.link_root
        self._current.state = state
        self.pipeline = state.pipeline
        for kind in (TokdError, ServiceError, HTTPException, RequestValidationError, Exception):
            self.add_exception_handler(kind, _answer_error)
        for module in _ROUTES:
            module.mount(self, state)
        for each in self.routes:
            if isinstance(each, Route) and not isinstance(each, JsonRoute):
                known = _query_names(each) if isinstance(each, APIRoute) else frozenset[str]()
                need = need_of(each.path_format, each.methods or ())
                # Monitors add what they like, such as the time to get past caches; none of it is read.
                gate = Gate(need, None if need is OPEN else known, any_host=each.path in ANY_HOST, is_json=False)
                each.app = partial(_answer_admitted, each.app, state.pipeline, gate)
        self.json_routes = {route.path: route for route in self.routes if isinstance(route, JsonRoute)}
        self._respond = open_to(state.settings.cors_origins, self._answer)
        self.fast_paths = {
            path.encode("ascii"): KernelRoute(
                path,
                route.json.plain,
                route.gate,
                state.pipeline,
                partial(refusal, dialect=route.dialect, root=route.link_root),
            )
            for path, route in self.json_routes.items()
            if route.json.plain is not None
        }

    @property
    def server_state(self) -> ServerState:
        """The state in force; it is never the same for long."""
        return self._current.state

    def dialect(self, path: str, headers: Headers) -> Dialect | None:
        """Return what writes the errors of a path, or ``None`` if they are problems."""
        if (route := self.json_routes.get(path)) is not None:
            return route.dialect
        # Also where there is no route, since clients show nothing of an error in another shape.
        of_client = anthropic.dialect if "anthropic-version" in headers else openai.dialect
        return of_client if f"{path}/".startswith("/v1/") else None

    def methods(self, path: str) -> list[str]:
        """Return what a path may be asked with; the framework would name those of its first route alone."""
        routes = [route for route in self.routes if isinstance(route, Route) and route.path_regex.match(path)]
        found = {method for route in routes for method in route.methods or ()}
        return sorted(found | ({"HEAD"} if "GET" in found else set()))

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document."""
        schemas = {"Problem": ProblemAnswer.model_json_schema()} | request_schemas(TrainJobRequest, EncodeJobRequest)
        return docs.completed(super().openapi(), schemas, self.server_state, self.link_root)

    def note_refused(self, refused: Refusal) -> None:
        """Count and log what was refused before it was a request: it is not HTTP, or its head is too large."""
        entry = self.pipeline.open("OTHER", (), None)
        entry.status, entry.code, entry.bytes_out = refused.status, refused.code, len(refused.body)
        self.pipeline.close(entry)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; whatever happens, it is answered in one shape, counted and logged."""
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        # Its connection may have opened it by the head.
        log_entry: LogEntry | None = scope.get("log_entry")
        if log_entry is None:
            log_entry = self.pipeline.open(scope["method"], scope["headers"], scope.get("client"))
            scope["log_entry"] = log_entry
        trace = log_entry.trace
        if trace or self._respond != self._answer:
            # A call that writes head and body at once knows no headers but the answer's own.
            extensions = scope.get("extensions") or {}
            scope["extensions"] = {name: each for name, each in extensions.items() if name != WRITE_WHOLE}
        if trace:
            send = partial(_send_with, send, trace)
        try:
            await self._respond(scope, receive, send)
        finally:
            refused: Refusal | None = scope.get(REFUSED)
            if refused is not None:
                log_entry.status, log_entry.code, log_entry.bytes_out = refused.status, refused.code, len(refused.body)
            self.pipeline.close(log_entry)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = self.json_routes.get(scope["path"]) if scope["method"] == "POST" else None
        if route is not None:
            await route.handle(scope, receive, send)
        else:
            await self._answer_by_fastapi(scope, receive, send, scope["log_entry"])

    async def _answer_by_fastapi(self, scope: Scope, receive: Receive, send: Send, log_entry: LogEntry) -> None:
        """Answer as FastAPI does, through its middleware."""
        asks_head = scope["method"] == "HEAD"
        if asks_head:
            # A HEAD is answered as the GET, but for the body; the server below looks at its own scope.
            scope = {**scope, "method": "GET"}

        async def watch(message: Message) -> None:
            if message["type"] == "http.response.start":
                log_entry.status = message["status"]
                await send(message)
                if asks_head:
                    # At once, for a stream of events has no end of its own.
                    await send({"type": "http.response.body", "body": b""})
            elif not asks_head:
                log_entry.bytes_out += len(message.get("body", b""))
                await send(message)

        try:
            await super().__call__(scope, receive, watch)
        except Exception:
            # It is answered and logged by now; only an answer that broke off has to end the connection.
            if log_entry.status != 500:
                raise
        finally:
            log_entry.route = getattr(scope.get("route"), "path_format", log_entry.route)
            if asks_head:  # An error says how long it is, also where nothing of it is sent.
                log_entry.bytes_out = 0


async def _send_with(send: Send, trace: Trace, message: Message) -> None:
    if message["type"] == "http.response.start":
        message = {**message, "headers": [*message["headers"], *trace]}
    await send(message)


async def _answer_admitted(
    app: ASGIApp, pipeline: Pipeline, gate: Gate, scope: Scope, receive: Receive, send: Send
) -> None:
    """Answer a request to a route that is not hot, once it is admitted."""
    scope["identity"] = pipeline.admit(scope["log_entry"], gate, scope["headers"], scope["query_string"])
    if gate.query is None:
        scope["query_string"] = b""
    await app(scope, receive, send)


def _query_names(route: APIRoute) -> frozenset[str]:
    return frozenset(parameter.alias for parameter in route.dependant.query_params)


@asynccontextmanager
async def _lifespan(app: App) -> AsyncIterator[None]:
    tasks: list[asyncio.Task[Any]] = [
        asyncio.create_task(_keep_current(app.server_state)),
        asyncio.create_task(_follow(app.hot_reload)),
    ]
    loop = asyncio.get_running_loop()
    if app.read_settings is not None:
        # By the loop: a handler that interrupts the main thread may neither start a thread nor wait for a lock.
        loop.add_signal_handler(signal.SIGHUP, _reload, app.hot_reload, app.read_settings, tasks)
    yield
    if app.read_settings is not None:
        loop.remove_signal_handler(signal.SIGHUP)
    for task in tasks:
        task.cancel()
    app.server_state.limits.close()
    if app.server_state.jobs is not None:
        app.server_state.jobs.close()
    if app.server_state.access_log is not None:
        app.server_state.access_log.close()
    if app.pipeline.spans is not None:
        app.pipeline.spans.close()


async def _keep_current(state: ServerState) -> None:
    """Reload changed keys and update the gauges every second.

    Requests do both too, but this process may have none for a while, and another one may write the page of metrics.
    """
    while True:
        state.guard.reload_if_changed()
        state.metrics.update_gauges(state.limits)
        await asyncio.sleep(GAUGE_SECONDS)


def _reload(hot_reload: HotReload, load: Callable[[], Settings], tasks: list[asyncio.Task[Any]]) -> None:
    tasks[:] = [task for task in tasks if not task.done()]
    tasks.append(asyncio.create_task(asyncio.to_thread(hot_reload.reload, load)))


async def _follow(hot_reload: HotReload) -> None:
    """Take up what changes in the directory of tokenizers."""
    while True:
        await asyncio.to_thread(hot_reload.follow)
        await asyncio.sleep(FOLLOW_SECONDS)


async def _answer_error(request: Request, error: Exception) -> Response:
    app: App = request.app
    path = request.scope["path"]
    if isinstance(error, HTTPException):
        routes = (route.path_format for route in app.routes if isinstance(route, Route))
        error = from_status(error.status_code, path, app.methods(path), routes)
    elif isinstance(error, RequestValidationError):
        error = from_query(error.errors())
    return _Refused(refuse(error, app.dialect(path, request.headers), app.link_root), app.server_state.limits)


class _Refused(Response):
    """An error; if the request has a body that was not read, the connection ends."""

    def __init__(self, refused: Refusal, limits: Limits) -> None:
        super().__init__(status_code=refused.status)
        self._refused, self._limits = refused, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        log_entry: LogEntry = scope["log_entry"]
        names = {name for name, _ in scope["headers"]}
        log_entry.unread = log_entry.unread and bool(names & {b"content-length", b"transfer-encoding"})
        await send_refusal(self._refused, log_entry, receive, send, self._limits)
        log_entry.bytes_out = len(self._refused.body)
