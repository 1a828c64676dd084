"""Requests about training jobs, and the parser of an event stream."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypedDict, TypeVar, Unpack

import httpx
import orjson

from service.client.answers import EncodeJob, Job, JobPage
from service.client.arguments import encoded, file_of, header, in_path, several
from service.client.call import Call
from service.client.calls import to_json_with_null
from service.client.errors import ServerFault, from_answer, no_answer, not_tokd
from service.client.pauses import growing_pause, pause_after
from tokenizer_core import InvalidOption

AnyJob = TypeVar("AnyJob", Job, EncodeJob)

EVENTS = "text/event-stream"
LAST_PAUSE = 5.0
RESTART_SECONDS = 60.0
"""Time that a server may be away after its last event, as during a restart."""

MAX_EVENT_BYTES = 1 << 20
"""An event of tokd takes some hundred bytes; what never ends must not fill the memory."""

GZIP = "application/gzip"

_EVENT_ID = re.compile(rb"[!-~]{1,200}")
"""Event ids that can be sent back in a header."""


class CorpusOptions(TypedDict, total=False):
    """Options that describe the files of a corpus."""

    format: str
    field: str
    column: str
    on_error: str
    language: str


class SubmitOptions(CorpusOptions, total=False):
    """Options of every submission.

    ``settings`` are those of the HTTP API. Without an ``idempotency_key`` one is made up: a request that is sent again
    is one job.
    """

    settings: Mapping[str, Any]
    name: str
    idempotency_key: str


def submit_texts(texts: Iterable[str], **options: Unpack[SubmitOptions]) -> Call[Job]:
    """Have a tokenizer trained on texts that go with the request."""
    return _submit({"texts": list(several(texts))}, options)


def submit_paths(files: Sequence[str], **options: Unpack[SubmitOptions]) -> Call[Job]:
    """Have a tokenizer trained on files of the server, below one of its corpus roots."""
    return _submit({"files": list(several(files, "files"))}, options)


def submit_urls(urls: Sequence[str], **options: Unpack[SubmitOptions]) -> Call[Job]:
    """Have a tokenizer trained on what URLs lead to, from the server."""
    return _submit({"urls": list(several(urls, "urls"))}, options)


def submit_files(files: Sequence[str | Path], **options: Unpack[SubmitOptions]) -> Call[Job]:
    """Have a tokenizer trained on files that are sent; they are read while they are sent, never whole."""
    # The settings go first, so that wrong ones are refused before the corpus is sent. A null in them has a meaning.
    given = _given(options, "name", *CorpusOptions.__optional_keys__)
    settings: Any = options.get("settings")
    if not isinstance(settings, Mapping | None):
        raise InvalidOption(f"settings are values by name, not {type(settings).__name__}", field="settings")
    form = {"settings": to_json_with_null({} if settings is None else settings)}
    form |= {name: encoded(value, name) for name, value in given.items()}
    return Call(
        "POST",
        "/train-job",
        Job,
        None,
        headers=key_header(options),
        form=form,
        files=tuple(map(file_of, several(files, "files"))),
    )


def job(job_id: str) -> Call[Job]:
    """Return the present state of a job."""
    return Call("GET", job_path(job_id), Job)


def jobs(*states: str, limit: int = 50, before: str | None = None) -> Call[JobPage]:
    """List your jobs, newest first: those in one of the states, or all."""
    return Call("GET", f"/train-job?{job_query(states, limit, before)}", _page)


def job_query(states: Iterable[str], limit: int, before: str | None) -> str:
    """Return the query of a list of jobs."""
    query = [f"limit={in_path(str(limit), 'limit')}", *(f"state={in_path(state, 'states')}" for state in states)]
    if before is not None:
        query.append(f"before={in_path(before, 'before')}")
    return "&".join(query)


def cancel(job_id: str) -> Call[Job]:
    """Cancel a job."""
    return Call("DELETE", job_path(job_id), Job)


def artifact(job_id: str, *, size: int | None = None) -> Call[bytes]:
    """Return the archive of what a job published, a ``tar.gz``: of its ``vocab_size``, or of one of its ``sizes``."""
    query = "" if size is None else f"?size={in_path(str(size), 'size')}"
    return Call("GET", f"{job_path(job_id)}/artifact{query}", _bytes, accept=GZIP)


def report(job_id: str) -> Call[dict[str, Any]]:
    """Tell what the run of a job that has succeeded counted and learned."""
    return Call("GET", f"{job_path(job_id)}/report", dict)


def job_path(job_id: str) -> str:
    """Return the path of a job."""
    return f"/train-job/{in_path(job_id, 'job_id')}"


class EventReader(Generic[AnyJob]):
    """Reads a stream of events, over any number of connections.

    Args:
        path: of the job.
        tries: connections in a row that may bring nothing, neither an event nor a keep-alive comment.

    Attributes:
        headers: of the next connection; they name the last event, so that none comes twice.
    """

    def __init__(self, path: str, tries: int, job: type[AnyJob]) -> None:
        self.path = f"{path}/events"
        self._job: type[AnyJob] = job
        self.headers = {"accept": EVENTS}
        self._tries = tries
        self._failures = 0
        self._until = 0.0
        # Of the event that is not complete: what is no line yet, its fields, and the bytes of their lines.
        self._rest, self._data, self._id, self._held = bytearray(), list[bytes](), b"", 0
        self._is_alive = False
        self._asked = 0.0

    @property
    def pause(self) -> float:
        """Seconds to wait before the next connection."""
        return max(self._asked, growing_pause(self._failures, LAST_PAUSE))

    def begin(self, answer: httpx.Response) -> None:
        """Begin to read an answer.

        Raises:
            ServerFault: it is not a stream of events.
        """
        if answer.headers.get("content-type", "").partition(";")[0].strip().lower() != EVENTS:
            raise not_tokd(answer)
        self._rest = bytearray()
        self._drop_fields()
        self._is_alive, self._asked = False, 0.0

    def push(self, data: bytes) -> Iterator[AnyJob]:
        """Take what came; yield the job of every event that is complete.

        Raises:
            ServerFault: an event is not one of tokd's.
        """
        self._rest += data
        if b"\n" in data:
            # Lines of bytes: as text they would also end at U+2028, and others that stand in JSON as they are.
            *lines, rest = self._rest.split(b"\n")
            self._rest = rest
            for line in lines:
                job = self._take(bytes(line.removesuffix(b"\r")))
                if job is not None:
                    yield job
        if self._held + len(self._rest) > MAX_EVENT_BYTES:
            raise self._alien(f"events of more than {MAX_EVENT_BYTES} bytes")

    def _take(self, line: bytes) -> AnyJob | None:
        if not line:
            return self._complete()
        if line.startswith((b":", b"data")):
            self._is_alive, self._failures = True, 0
            self._until = time.monotonic() + RESTART_SECONDS
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"id":
            self._id = value
        if name:
            # Not a comment, of which any number may keep a stream alive.
            self._held += len(line) + 1
        return None

    def _complete(self) -> AnyJob | None:
        data, id = b"\n".join(self._data), self._id
        self._drop_fields()
        if not data:
            return None
        try:
            job: AnyJob = self._job(orjson.loads(data))
        except (KeyError, TypeError, ValueError):
            raise self._alien("events") from None
        if _EVENT_ID.fullmatch(id) is None:
            raise self._alien("events")
        self.headers["last-event-id"] = id.decode("ascii")
        return job

    def _drop_fields(self) -> None:
        self._data, self._id, self._held = [], b"", 0

    def _alien(self, what: str) -> ServerFault:
        message = f"{self.path} tells {what} that are not tokd's; check the address"
        return ServerFault(message, code="internal", status=200)

    def refused(self, answer: httpx.Response) -> None:
        """Handle an answer other than a stream: a saturated service is asked again after a pause.

        Raises:
            TokdError: the answer is final.
        """
        pause = None if self._gives_up() else pause_after(answer, 1, 2)
        if pause is None:
            raise from_answer(answer)
        self._asked = pause

    def lost(self, error: httpx.RequestError) -> None:
        """Handle the failure of a connection.

        Raises:
            Unreachable: too many connections in a row brought nothing.
        """
        self._asked = 0.0
        if self._gives_up():
            raise no_answer(error) from error

    def _gives_up(self) -> bool:
        """Return whether too many connections in a row have brought nothing."""
        self._failures += 1
        return self._failures >= self._tries and time.monotonic() >= self._until

    def ended(self) -> None:
        """Handle the end of a stream whose job has not ended, as when the server is restarted.

        Raises:
            ServerFault: too many streams in a row brought nothing.
        """
        if not self._is_alive and self._gives_up():
            message = f"{self.path} ended without an event, at every try; check the address and what stands before it"
            raise ServerFault(message, code="internal", status=200)


def _submit(corpus: dict[str, Any], options: SubmitOptions) -> Call[Job]:
    given = _given(options, "settings", "name")
    body = {"corpus": corpus | _given(options, *CorpusOptions.__optional_keys__), **given}
    return Call("POST", "/train-job", Job, body, headers=key_header(options))


def _given(options: SubmitOptions, *names: str) -> dict[str, Any]:
    return given_options(options, SubmitOptions.__optional_keys__, *names)


def given_options(options: Mapping[str, Any], known: frozenset[str], *names: str) -> dict[str, Any]:
    """Return those of some names that are given, after all of another name than is known were refused."""
    for name in sorted(options.keys() - known):
        raise InvalidOption(f"{name} is not an option of a submission; what a job does is said in settings", field=name)
    return {name: value for name, value in options.items() if name in names and value is not None}


def key_header(options: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the header by which a request that is sent again is one job."""
    key = options.get("idempotency_key")
    return {"idempotency-key": secrets.token_hex(16) if key is None else header(key, "idempotency_key")}


def _page(answer: dict[str, Any]) -> JobPage:
    return JobPage({"jobs": [Job(each) for each in answer["jobs"]], "next": answer["next"]})


def _bytes(answer: httpx.Response) -> bytes:
    return answer.content
