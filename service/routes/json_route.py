"""Hot routes, which handle their requests without FastAPI: a body is checked from its bytes and answered in bytes.

They are declared like all others, so that models and documentation are FastAPI's. At run time they skip solving
dependencies and models of answers, for common requests (``service.http.fast_path``) that of the body too.
"""

from __future__ import annotations

import errno
import logging
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from secrets import token_hex
from typing import Annotated, Any, NamedTuple, TypeVar, cast

from fastapi import Body, FastAPI
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.types import Receive, Scope, Send

from service.admission.deadline import require_time
from service.admission.limits import HEAVY_BYTES, Disconnected, Limits
from service.admission.threads import saturated
from service.auth.route_scopes import NEEDS
from service.errors import MEDIA_TYPE, Dialect, Refusal, ServiceError, refusal
from service.http.asgi_request import IS_GONE, WRITE_WHOLE
from service.http.body_errors import name_mistyped
from service.http.compression import answer_coding, body_coding, compress, decompress
from service.http.fast_path import FastAnswers
from service.http.json_body import declared_length, parser, require_json
from service.http.response_json import BLOCK_BYTES, Answer, Block, bytes_reported_to
from service.http.wire import COPIED_BYTES
from service.pipeline import Gate, ask_kernel
from service.request_log import Headers, LogEntry
from service.routes.opening import when_opened
from service.schemas.fields import under_limits
from service.schemas.inline import inline_steps
from service.schemas.requests import RequestBody
from service.state import ServerState
from tokenizer_core import InternalError, StepsSpent, steps_bounded

T = TypeVar("T")

CHECKED_BYTES = 16 << 10
"""Bodies up to this size are checked on the event loop; a longer one would hold it for a millisecond."""

_log = logging.getLogger("tokd")

Endpoint = Callable[[Any], Answer]
"""Answers a checked request; runs on the event loop or in a thread."""

NoteFailure = Callable[[Exception], None]
"""Counts and logs a bug that no caller meets."""

Responses = dict[int | str, dict[str, Any]]


def error_responses(**said: Any) -> Responses:
    """Document the errors of a route, whose bodies are described by ``model`` or ``content``."""
    return {
        "4XX": {"description": "The request cannot be answered as it is.", **said},
        "5XX": {
            "description": "Too much to do (503, with `Retry-After`), a transfer coding (501), or a bug (500).",
            **said,
        },
    }


PROBLEM_RESPONSES = error_responses(content={MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}})


class Handler(NamedTuple):
    """A way from a body to an answer; each pair of forms that both may have is one.

    Attributes:
        parse: turns a body into a checked model.
        answer: turns that into an answer.
        require: refuses bodies of other media types.
        is_heavy: whether the work is done in a thread however small the body is.
        plain: answers what is common without the model.
    """

    parse: Callable[[bytes], Any]
    answer: Endpoint
    require: Callable[[bytes], None] = require_json
    is_heavy: bool = False
    plain: FastAnswers | None = None

    def answer_plain(self, body: bytes, fail: NoteFailure, key: str) -> Answer | None:
        """Answer a body that is plain; ``None`` for others, and where the kernel has a bug, which is noted."""
        try:
            return None if self.plain is None else self.plain.answer(body, may_take_long=True, key=key)
        except InternalError as error:
            fail(error)
            return None

    def work(self, chunks: list[bytes], fail: NoteFailure, key: str = "") -> Answer:
        """Answer a large body."""
        body = b"".join(chunks)
        answer = self.answer_plain(body, fail, key)
        return self.answer(self.parse(body)) if answer is None else answer

    def work_heavy(self, body: bytes, request: RequestBody, fail: NoteFailure, key: str) -> Answer:
        """Answer a small body that asks for much."""
        return self.answer_plain(body, fail, key) or self.answer(request)


Negotiate = Callable[[Headers], Handler | None]
"""Returns what handles the forms that the headers name; ``None`` if both are JSON."""


class JsonRoute(APIRoute):
    """A declared route that handles its requests itself.

    Args:
        endpoint: turns a checked body of ``model`` into an answer.
        dialect, plain, negotiate: those of ``post``.
        declared: what FastAPI knows of the route.
    """

    def __init__(
        self,
        path: str,
        endpoint: Endpoint,
        *,
        model: type[RequestBody],
        state: ServerState,
        dialect: Dialect | None,
        plain: FastAnswers | None,
        negotiate: Negotiate | None,
        **declared: Any,
    ) -> None:
        super().__init__(path, endpoint, **declared)
        self.json = Handler(parser(model), endpoint, plain=plain)
        self.fields = model.model_fields.keys()
        self.limits, self.dialect, self.negotiate = state.limits, dialect, negotiate
        self.fail: NoteFailure = partial(state.metrics.note_fast_path_failure, path)
        self.pipeline, self.gate = state.pipeline, Gate(NEEDS[path], query=() if dialect is None else None)
        self.registry, self.link_root = state.current.registry, state.settings.link_root

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, whatever it holds, with an answer or a problem."""
        if scope["method"] != "POST":
            await super().handle(scope, receive, send)
            return
        log_entry: LogEntry = scope["log_entry"]
        log_entry.route = self.path
        extensions = scope.get("extensions") or {}
        if IS_GONE in extensions:
            log_entry.is_gone = extensions[IS_GONE]["ask"]
        try:
            answer = await self._compressed(await self._answer(scope, receive, log_entry), scope["headers"], log_entry)
        except Disconnected:
            return
        except Exception as error:
            await send_refusal(refuse(error, self.dialect, self.link_root), log_entry, receive, send, self.limits)
            return
        log_entry.status, log_entry.tokens, log_entry.tokenizer = 200, answer.tokens, answer.tokenizer
        answer = answer._replace(headers=(*answer.headers, *self.pipeline.headers(log_entry)))
        blocks = answer.blocks
        log_entry.bytes_out = size = len(blocks[0]) if len(blocks) == 1 else sum(map(len, blocks))
        if len(blocks) == 1 and size <= COPIED_BYTES:
            # One write of head and body together, for which a larger answer would have to be copied.
            extension = extensions.get(WRITE_WHOLE)
            if extension is not None and extension["send"](answer.media_type, blocks[0], answer.headers):
                return
        headers = [(b"content-type", answer.media_type), (b"content-length", b"%d" % size), *answer.headers]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        if size <= BLOCK_BYTES and len(blocks) == 1:
            body = blocks[0]
            await send({"type": "http.response.body", "body": body if isinstance(body, bytes) else body.data})
        else:
            await self._send_blocks(blocks, size, log_entry, send)

    async def _send_blocks(self, blocks: list[Block], size: int, log_entry: LogEntry, send: Send) -> None:
        """Send a large answer no faster than it is read; what waits to be read is counted as held."""
        self.limits.hold(size - log_entry.made_bytes, log_entry)
        for block in blocks:
            view = memoryview(block) if isinstance(block, bytes) else block.data
            for start in range(0, len(block), BLOCK_BYTES):
                body = view[start : start + BLOCK_BYTES]
                await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def _answer(self, scope: Scope, receive: Receive, log_entry: LogEntry) -> Answer:
        limits = self.limits
        if log_entry.refused is not None:
            raise log_entry.refused
        if not log_entry.is_admitted:
            self.pipeline.admit(log_entry, self.gate, scope["headers"], scope["query_string"])
        handler = self.json
        if self.negotiate is not None:
            handler = self.negotiate(scope["headers"]) or handler
        coding = body_coding(scope["headers"])
        length = declared_length(scope["headers"], handler.require)
        if length is not None:
            limits.begin(length, log_entry)
        chunks = await limits.read(length, receive, log_entry)
        size = log_entry.bytes_in
        if coding is not None:
            most = limits.settings.max_body_bytes
            chunks = [await limits.in_thread(decompress, coding, chunks, most, until=log_entry.until)]
            size = len(chunks[0])
            limits.hold_body(size, log_entry)
        await limits.wait_for_turn(size, log_entry)
        require_time(log_entry.until)
        if handler.is_heavy or size > limits.settings.inline_bytes:
            return await when_opened(limits, lambda: self._answer_large(handler, chunks, log_entry))
        body = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        if handler.plain is not None:
            answer = ask_kernel(handler.plain, body, log_entry, self.fail)
            if answer is not None:
                return answer
            if log_entry.tried == "in vain":
                handler = handler._replace(plain=None)
        try:
            if log_entry.tried == "takes long" or size > CHECKED_BYTES:
                limits.take_work(HEAVY_BYTES, log_entry)
                return await when_opened(limits, lambda: self._answer_large(handler, chunks, log_entry))
            return await when_opened(limits, lambda: self._answer_small(handler, body, log_entry))
        except ServiceError as error:
            name_mistyped(error, body, self.fields)
            raise

    async def _compressed(self, answer: Answer, headers: Headers, log_entry: LogEntry) -> Answer:
        """Compress a large answer if the caller would like that and a thread is free."""
        if sum(map(len, answer.blocks)) < self.limits.settings.pack_bytes:
            return answer
        vary = (b"vary", b"accept-encoding")
        coding = answer_coding(headers)
        if coding is not None:
            try:
                compressed = await self.limits.in_thread(compress, coding, answer.blocks, until=log_entry.until)
            except ServiceError:
                coding = None
        if coding is None:
            return answer._replace(headers=(*answer.headers, vary))
        more = (vary, (b"content-encoding", coding.encode("ascii")))
        return answer._replace(blocks=compressed, headers=(*answer.headers, *more))

    async def _answer_large(self, handler: Handler, chunks: list[bytes], log_entry: LogEntry) -> Answer:
        work = self._counted(handler.work, log_entry)
        return await self.limits.in_thread(work, chunks, self.fail, log_entry.key, until=log_entry.until)

    async def _answer_small(self, handler: Handler, body: bytes, log_entry: LogEntry) -> Answer:
        limits = self.limits
        request: RequestBody = handler.parse(body)
        if request.renders():
            work = self._counted(handler.answer, log_entry)
            if request.renders_little():
                try:
                    with steps_bounded(inline_steps(len(body))):
                        return work(request)
                except StepsSpent:
                    pass
            limits.take_work(HEAVY_BYTES, log_entry)
            return await limits.in_thread(work, request, until=log_entry.until)
        if self._is_heavy(request, len(body)):
            limits.take_work(HEAVY_BYTES * request.weight(), log_entry)
            work_heavy = self._counted(handler.work_heavy, log_entry)
            return await limits.in_thread(work_heavy, body, request, self.fail, log_entry.key, until=log_entry.until)
        return handler.answer(request)

    def _is_heavy(self, request: RequestBody, size: int) -> bool:
        takes_long = self.registry().takes_long
        return request.heavy() or any(takes_long(reference, size) for reference in request.cut_by())

    def _counted(self, work: Callable[..., T], log_entry: LogEntry) -> Callable[..., T]:
        """Return ``work`` with every byte of its answer counted as it is made, so that one too large is refused early.

        The work ends when it reports bytes and its caller is gone or its deadline has passed: between two chats, above
        all.
        """

        def grow(size: int) -> None:
            if log_entry.is_gone():
                raise Disconnected
            require_time(log_entry.until)
            self.limits.grow(size, log_entry)

        def run(*arguments: Any) -> T:
            with bytes_reported_to(grow):
                done = work(*arguments)
            if isinstance(done, Answer):
                # Bytes that the kernel or another library made at once, and so did not report.
                grow(sum(map(len, done.blocks)) - log_entry.made_bytes)
            return done

        return run


def refuse(error: Exception, dialect: Dialect | None, root: str) -> Refusal:
    """Turn an exception into what is sent. A bug is logged by its traceback alone: its message may quote a caller.

    The answer and the log have one word in common, by which the operator finds what a caller asks about.
    """
    refused = refusal(error, dialect, root)
    if refused.code not in ("internal", "artifact_damaged"):
        return refused
    # An artifact that could not be opened for want of a descriptor is not damaged either.
    if _lacks_descriptors(error):
        _log.error("all file descriptors of this process are in use; let it have more (ulimit -n)")
        return refusal(saturated("all file descriptors of this server are in use"), dialect, root)
    if refused.code == "artifact_damaged":
        return refused
    if isinstance(error, MemoryError):
        _log.error("memory is short: a request could not be answered")
        return refusal(saturated("this server has too little memory for it now"), dialect, root)
    word = token_hex(4)
    _log.error("bug %s: %s\n%s", word, type(error).__name__, "".join(traceback.format_tb(error.__traceback__)))
    bug = ServiceError("internal", f"this server has a bug; its error log says where, at {word}")
    return refusal(bug, dialect, root)


def _lacks_descriptors(error: BaseException | None) -> bool:
    """Tell whether an exception, or one of its causes, is that no further file can be opened."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
            return True
        error = error.__cause__ or error.__context__
    return False


async def send_refusal(refused: Refusal, log_entry: LogEntry, receive: Receive, send: Send, limits: Limits) -> None:
    """Send a problem; if the body was not read whole, end the connection."""
    log_entry.status, log_entry.code, log_entry.bytes_out = refused.status, refused.code, len(refused.body)
    media_type = (b"content-type", refused.media_type.encode("ascii"))
    headers = [media_type, (b"content-length", b"%d" % len(refused.body)), *refused.headers]
    if not log_entry.unread:
        await send({"type": "http.response.start", "status": refused.status, "headers": headers})
        await send({"type": "http.response.body", "body": refused.body})
        return
    headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": refused.body, "more_body": True})
    await limits.throw_away(receive)
    await send({"type": "http.response.body", "body": b""})


def post(
    app: FastAPI,
    state: ServerState,
    path: str,
    handler: Callable[[ServerState, Any], Answer],
    model: type[RequestBody],
    answer: type[BaseModel],
    *,
    dialect: Dialect | None = None,
    responses: Responses = PROBLEM_RESPONSES,
    plain: FastAnswers | None = None,
    negotiate: Negotiate | None = None,
    other_bodies: Mapping[str, Any] | None = None,
) -> None:
    """Declare a route whose ``handler`` takes ``model``, and whose answer looks like the model ``answer``.

    Args:
        dialect: how errors are said, if not as problems; ``responses`` documents them.
        plain: answers what is common without the model.
        negotiate: finds what handles a request whose body or answer is not JSON.
        other_bodies: documents, by media type, the bodies that are not JSON.
    """
    model = under_limits(model, state.settings)
    examples: Any = {
        name: {"summary": example.summary, "value": example.body, "x-status": example.status}
        for name, example in model.EXAMPLES.items()
    }

    current = state.current

    def endpoint(body: Any) -> Answer:
        return handler(current.state, body)

    endpoint.__name__, endpoint.__doc__ = handler.__name__, handler.__doc__
    # The limits of this server stand in the model, so the annotation is known only now.
    endpoint.__annotations__["body"] = Annotated[model, Body(openapi_examples=examples)]
    route = partial(JsonRoute, model=model, state=state, dialect=dialect, plain=plain, negotiate=negotiate)
    app.router.add_api_route(
        path,
        endpoint,
        methods=["POST"],
        response_model=answer,
        responses=responses,
        route_class_override=cast(type[JsonRoute], route),
        openapi_extra={"requestBody": {"content": other_bodies}} if other_bodies else None,
    )
