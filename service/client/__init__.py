"""A client of the service in two kinds: ``Client`` blocks, ``AsyncClient`` awaits.

What is sent and how its answer is read is written once, in the functions that return a ``Call``; a client sends calls.
So both kinds have the same methods with the same types::

    with Client() as tokd:
        tokd.encode("Hello, world").ids
    async with AsyncClient() as tokd:
        (await tokd.encode("Hello, world")).ids
"""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any, Generic, ParamSpec, Self, TypeVar, overload

import httpx

from service.client import calls
from service.client import jobs as job_calls
from service.client.answers import (
    Answer,
    Compared,
    Count,
    Decoded,
    EncodeJob,
    EncodeJobPage,
    Encoding,
    Job,
    JobPage,
    Parsed,
    Places,
    Rendered,
    TokenizerInfo,
)
from service.client.arguments import transport_of, whole_of
from service.client.call import Call, in_parts
from service.client.errors import (
    Forbidden,
    NotFound,
    Refused,
    Saturated,
    ServerFault,
    TimedOut,
    TooLarge,
    Unreachable,
    no_answer,
)
from service.client.events import AnyJob, EventReader
from service.client.pauses import pause_after
from service.client.transfer import connection_of, read, request_of, require_open, stream_timeout
from tokenizer_core import TokdError

__all__ = [
    "Answer",
    "AsyncClient",
    "Call",
    "Client",
    "Compared",
    "Count",
    "Decoded",
    "EncodeJob",
    "EncodeJobPage",
    "Encoding",
    "Forbidden",
    "Job",
    "JobPage",
    "NotFound",
    "Parsed",
    "Places",
    "Refused",
    "Rendered",
    "Saturated",
    "ServerFault",
    "TimedOut",
    "TokenizerInfo",
    "TooLarge",
    "Unreachable",
]

URL = "http://127.0.0.1:8000"
SECONDS = 30.0
TRIES = 3
CONCURRENCY = 32
"""httpx looks at every connection with every request: twice as many make each request dearer and none faster."""

P = ParamSpec("P")
T = TypeVar("T")


class _Method(Generic[P, T]):
    """A call as a method of either client."""

    def __init__(self, describe: Callable[P, Call[T]]) -> None:
        self._describe = describe
        self.__doc__ = describe.__doc__

    @overload
    def __get__(self, client: Client, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncClient, owner: type) -> Callable[P, Awaitable[T]]: ...
    @overload
    def __get__(self, client: None, owner: type) -> Callable[P, Call[T]]: ...
    def __get__(self, client: Client | AsyncClient | None, owner: type) -> Callable[P, Any]:
        describe = self._describe
        if client is None:
            return describe

        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return client.send(describe(*args, **kwargs))

        method.__name__, method.__doc__ = describe.__name__, describe.__doc__
        return method


class _Methods:
    encode = _Method(calls.encode)
    encode_batch = _Method(calls.encode_batch)
    encode_words = _Method(calls.encode_words)
    encode_words_batch = _Method(calls.encode_words_batch)
    encode_ids = _Method(calls.encode_ids)
    encode_ids_batch = _Method(calls.encode_ids_batch)
    encode_arrow = _Method(calls.encode_arrow)
    render = _Method(calls.render)
    encode_chat = _Method(calls.encode_chat)
    count_chat = _Method(calls.count_chat)
    count = _Method(calls.count)
    count_batch = _Method(calls.count_batch)
    offsets = _Method(calls.offsets)
    offsets_batch = _Method(calls.offsets_batch)
    compare = _Method(calls.compare)
    decode = _Method(calls.decode)
    decode_batch = _Method(calls.decode_batch)
    parse = _Method(calls.parse)
    tokenizers = _Method(calls.tokenizers)
    tokenizer = _Method(calls.tokenizer)
    add_tokenizer = _Method(calls.add_tokenizer)
    upload_tokenizer = _Method(calls.upload_tokenizer)
    point_alias = _Method(calls.point_alias)
    remove_tokenizer = _Method(calls.remove_tokenizer)
    submit_texts = _Method(job_calls.submit_texts)
    submit_files = _Method(job_calls.submit_files)
    submit_paths = _Method(job_calls.submit_paths)
    submit_urls = _Method(job_calls.submit_urls)
    job = _Method(job_calls.job)
    jobs = _Method(job_calls.jobs)
    cancel = _Method(job_calls.cancel)
    artifact = _Method(job_calls.artifact)
    report = _Method(job_calls.report)
    submit_encode_job = _Method(job_calls.submit_encode_job)
    encode_job = _Method(job_calls.encode_job)
    encode_jobs = _Method(job_calls.encode_jobs)
    cancel_encode_job = _Method(job_calls.cancel_encode_job)
    encode_job_manifest = _Method(job_calls.encode_job_manifest)
    encode_job_file = _Method(job_calls.encode_job_file)


class Client(_Methods):
    """A client that waits for every answer.

    It keeps connections open: use one in each process, in any number of threads, and close it.

    Args:
        url: where the service listens.
        timeout: seconds to connect, to send and to wait for bytes of the answer, each.
        tries: how often a request is sent that a saturated service turns away, with the pause it asks for.
        headers: sent with every request.
        transport: how connections are made; ``httpx.HTTPTransport(uds=path)`` reaches a unix socket.
        key: an API key, for a server that needs one.
        concurrency: requests under way at once; others wait for their turn in this process, however long.
    """

    def __init__(
        self,
        url: str = URL,
        *,
        timeout: float = SECONDS,
        tries: int = TRIES,
        headers: Mapping[str, str] | None = None,
        transport: httpx.BaseTransport | None = None,
        key: str | None = None,
        concurrency: int = CONCURRENCY,
    ) -> None:
        self._tries = whole_of(tries, "tries")
        self._turns = threading.Semaphore(whole_of(concurrency, "concurrency", least=1))
        self._stream_timeout = stream_timeout(timeout)
        options = connection_of(url, timeout, headers, key, concurrency)
        self._http = httpx.Client(**options, transport=transport_of(transport, httpx.BaseTransport))

    def send(self, call: Call[T]) -> T:
        """Send a call, in parts if it is large and again if the service is saturated, and read its answer."""
        if call.rows is None:
            return self._send(call)
        outcome: T | TokdError
        parts = in_parts(call.rows)
        try:
            part = next(parts)
            while True:
                try:
                    outcome = self._send(part)
                except TokdError as error:
                    outcome = error
                part = parts.send(outcome)
        except StopIteration as done:
            whole: T = done.value
            return whole

    def _send(self, call: Call[T]) -> T:
        with self._turns, ExitStack() as files:
            request = request_of(self._http, call, files)
            for attempt in itertools.count(1):
                try:
                    answer = self._http.send(request)
                except httpx.RequestError as error:
                    raise no_answer(error) from error
                seconds = pause_after(answer, attempt, self._tries)
                if seconds is None:
                    break
                time.sleep(seconds)
        return read(call, answer)

    def events(self, job_id: str) -> Iterator[Job]:
        """Yield the present state of a job, then every change until it has ended; reopen a broken stream."""
        return self._events(EventReader(job_calls.job_path(job_calls.TRAIN, job_id), self._tries, Job))

    def encode_job_events(self, job_id: str) -> Iterator[EncodeJob]:
        """Yield the present state of a job that encodes, then every change until it has ended."""
        return self._events(EventReader(job_calls.job_path(job_calls.ENCODE, job_id), self._tries, EncodeJob))

    def _events(self, reader: EventReader[AnyJob]) -> Iterator[AnyJob]:
        while True:
            require_open(self._http)
            try:
                with self._http.stream(
                    "GET", reader.path, headers=reader.headers, timeout=self._stream_timeout
                ) as answer:
                    if answer.status_code == 204:
                        return
                    if answer.status_code == 200:
                        reader.begin(answer)
                        for data in answer.iter_bytes():
                            for job in reader.push(data):
                                yield job
                                if job.ended:
                                    return
                        reader.ended()
                    else:
                        answer.read()
                        reader.refused(answer)
            except httpx.RequestError as error:
                reader.lost(error)
            time.sleep(reader.pause)

    def wait(self, job_id: str) -> Job:
        """Return a job when it has ended, however it ended."""
        for _ in self.events(job_id):
            pass
        return self.job(job_id)

    def wait_for_encode_job(self, job_id: str) -> EncodeJob:
        """Return a job that encodes when it has ended, however it ended."""
        for _ in self.encode_job_events(job_id):
            pass
        return self.encode_job(job_id)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(_Methods):
    """A client whose answers are awaited; its arguments are those of ``Client``."""

    def __init__(
        self,
        url: str = URL,
        *,
        timeout: float = SECONDS,
        tries: int = TRIES,
        headers: Mapping[str, str] | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        key: str | None = None,
        concurrency: int = CONCURRENCY,
    ) -> None:
        self._tries = whole_of(tries, "tries")
        self._turns = asyncio.Semaphore(whole_of(concurrency, "concurrency", least=1))
        self._stream_timeout = stream_timeout(timeout)
        options = connection_of(url, timeout, headers, key, concurrency)
        self._http = httpx.AsyncClient(**options, transport=transport_of(transport, httpx.AsyncBaseTransport))

    async def send(self, call: Call[T]) -> T:
        """Send a call, in parts if it is large and again if the service is saturated, and read its answer."""
        if call.rows is None:
            return await self._send(call)
        outcome: T | TokdError
        parts = in_parts(call.rows)
        try:
            part = next(parts)
            while True:
                try:
                    outcome = await self._send(part)
                except TokdError as error:
                    outcome = error
                part = parts.send(outcome)
        except StopIteration as done:
            whole: T = done.value
            return whole

    async def _send(self, call: Call[T]) -> T:
        async with self._turns:
            with ExitStack() as files:
                request = request_of(self._http, call, files)
                for attempt in itertools.count(1):
                    try:
                        answer = await self._http.send(request)
                    except httpx.RequestError as error:
                        raise no_answer(error) from error
                    seconds = pause_after(answer, attempt, self._tries)
                    if seconds is None:
                        break
                    await asyncio.sleep(seconds)
        return read(call, answer)

    def events(self, job_id: str) -> AsyncIterator[Job]:
        """Yield the present state of a job, then every change until it has ended; reopen a broken stream."""
        return self._events(EventReader(job_calls.job_path(job_calls.TRAIN, job_id), self._tries, Job))

    def encode_job_events(self, job_id: str) -> AsyncIterator[EncodeJob]:
        """Yield the present state of a job that encodes, then every change until it has ended."""
        return self._events(EventReader(job_calls.job_path(job_calls.ENCODE, job_id), self._tries, EncodeJob))

    async def _events(self, reader: EventReader[AnyJob]) -> AsyncIterator[AnyJob]:
        while True:
            require_open(self._http)
            try:
                async with self._http.stream(
                    "GET", reader.path, headers=reader.headers, timeout=self._stream_timeout
                ) as answer:
                    if answer.status_code == 204:
                        return
                    if answer.status_code == 200:
                        reader.begin(answer)
                        async for data in answer.aiter_bytes():
                            for job in reader.push(data):
                                yield job
                                if job.ended:
                                    return
                        reader.ended()
                    else:
                        await answer.aread()
                        reader.refused(answer)
            except httpx.RequestError as error:
                reader.lost(error)
            await asyncio.sleep(reader.pause)

    async def wait(self, job_id: str) -> Job:
        """Return a job when it has ended, however it ended."""
        async for _ in self.events(job_id):
            pass
        return await self.job(job_id)

    async def wait_for_encode_job(self, job_id: str) -> EncodeJob:
        """Return a job that encodes when it has ended, however it ended."""
        async for _ in self.encode_job_events(job_id):
            pass
        return await self.encode_job(job_id)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
