"""Requests about jobs: those that train, and those that encode a corpus into the files of trainers."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, TypeVar, Unpack

import httpx

from service.client.answers import EncodeJob, EncodeJobPage, Fields, Job, JobPage
from service.client.arguments import encoded, file_of, header, in_path, several
from service.client.call import Call
from service.client.calls import to_json_with_null
from tokenizer_core import InvalidOption

T = TypeVar("T")
Page = TypeVar("Page", bound=Fields)

TRAIN, ENCODE = "/train-job", "/encode-job"
GZIP = "application/gzip"


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


class EncodeOptions(SubmitOptions, total=False):
    """Options of a submission of a job that encodes; a tokenizer is named by a reference."""

    tokenizer: str


def submit_texts(texts: Iterable[str], **options: Unpack[SubmitOptions]) -> Call[Job]:
    """Have a tokenizer trained on texts that go with the request."""
    return _submission(TRAIN, Job, {"texts": list(several(texts))}, options)


def submit_paths(files: Sequence[str], **options: Unpack[SubmitOptions]) -> Call[Job]:
    """Have a tokenizer trained on files of the server, below one of its corpus roots."""
    return _submission(TRAIN, Job, {"files": list(several(files, "files"))}, options)


def submit_urls(urls: Sequence[str], **options: Unpack[SubmitOptions]) -> Call[Job]:
    """Have a tokenizer trained on what URLs lead to, from the server."""
    return _submission(TRAIN, Job, {"urls": list(several(urls, "urls"))}, options)


def submit_files(files: Sequence[str | Path], **options: Unpack[SubmitOptions]) -> Call[Job]:
    """Have a tokenizer trained on files that are sent; they are read while they are sent, never whole."""
    return _submission(TRAIN, Job, several(files, "files"), options)


def submit_encode_job(
    *,
    texts: Sequence[str] | None = None,
    paths: Sequence[str] | None = None,
    urls: Sequence[str] | None = None,
    files: Sequence[str | Path] | None = None,
    **options: Unpack[EncodeOptions],
) -> Call[EncodeJob]:
    """Have a corpus encoded: texts, files of the server, what URLs lead to, or files that are sent."""
    corpora = {"texts": texts, "paths": paths, "urls": urls, "files": files}
    given = {name: list(several(each, name)) for name, each in corpora.items() if each is not None}
    if len(given) != 1:
        raise InvalidOption(f"a corpus is one of {', '.join(corpora)}; {len(given)} are given", field="corpus")
    ((kind, corpus),) = given.items()
    sent: Any = corpus if kind == "files" else {"files" if kind == "paths" else kind: corpus}
    return _submission(ENCODE, EncodeJob, sent, options)


def _submission(
    path: str, job: type[T], corpus: Mapping[str, Any] | Sequence[str | Path], options: Mapping[str, Any]
) -> Call[T]:
    """Submit a job.

    Args:
        corpus: as a body has it, or the files that are sent.
    """
    known = EncodeOptions if path == ENCODE else SubmitOptions
    for name in sorted(options.keys() - known.__optional_keys__):
        raise InvalidOption(f"{name} is not an option of a submission; what a job does is said in settings", field=name)
    settings, key = options.get("settings"), options.get("idempotency_key")
    if not isinstance(settings, Mapping | None):
        raise InvalidOption(f"settings are values by name, not {type(settings).__name__}", field="settings")
    headers = {"idempotency-key": secrets.token_hex(16) if key is None else header(key, "idempotency_key")}
    given = {name: value for name, value in options.items() if value is not None}
    about: dict[str, Any] = {name: given[name] for name in ("tokenizer", "name") if name in given}
    of_files = {name: given[name] for name in CorpusOptions.__optional_keys__ if name in given}
    if isinstance(corpus, Mapping):
        body = {"corpus": {**corpus, **of_files}, "settings": settings, **about}
        return Call("POST", path, job, body, headers=headers)
    # The settings go first, so that wrong ones are refused before the corpus is sent. A null in them has a meaning.
    form = {"settings": to_json_with_null(settings or {})}
    form |= {name: encoded(value, name) for name, value in (about | of_files).items()}
    return Call("POST", path, job, None, headers=headers, form=form, files=tuple(map(file_of, corpus)))


def job(job_id: str) -> Call[Job]:
    """Return the present state of a job."""
    return Call("GET", job_path(TRAIN, job_id), Job)


def encode_job(job_id: str) -> Call[EncodeJob]:
    """Return the present state of a job that encodes."""
    return Call("GET", job_path(ENCODE, job_id), EncodeJob)


def jobs(*states: str, limit: int = 50, before: str | None = None) -> Call[JobPage]:
    """List your jobs, newest first: those in one of the states, or all."""
    return Call("GET", TRAIN + _query(states, limit, before), _page(JobPage, Job))


def encode_jobs(*states: str, limit: int = 50, before: str | None = None) -> Call[EncodeJobPage]:
    """List your jobs that encode, newest first: those in one of the states, or all."""
    return Call("GET", ENCODE + _query(states, limit, before), _page(EncodeJobPage, EncodeJob))


def _query(states: Iterable[str], limit: int, before: str | None) -> str:
    query = [f"limit={in_path(str(limit), 'limit')}", *(f"state={in_path(state, 'states')}" for state in states)]
    if before is not None:
        query.append(f"before={in_path(before, 'before')}")
    return f"?{'&'.join(query)}"


def _page(page: type[Page], job: type[Fields]) -> Callable[[dict[str, Any]], Page]:
    return lambda answer: page({"jobs": [job(each) for each in answer["jobs"]], "next": answer["next"]})


def cancel(job_id: str) -> Call[Job]:
    """Cancel a job."""
    return Call("DELETE", job_path(TRAIN, job_id), Job)


def cancel_encode_job(job_id: str) -> Call[EncodeJob]:
    """Cancel a job that encodes."""
    return Call("DELETE", job_path(ENCODE, job_id), EncodeJob)


def artifact(job_id: str, *, size: int | None = None) -> Call[bytes]:
    """Return the archive of what a job published, a ``tar.gz``: of its ``vocab_size``, or of one of its ``sizes``."""
    query = "" if size is None else f"?size={in_path(str(size), 'size')}"
    return Call("GET", f"{job_path(TRAIN, job_id)}/artifact{query}", _bytes, accept=GZIP)


def report(job_id: str) -> Call[dict[str, Any]]:
    """Tell what the run of a job that has succeeded counted and learned."""
    return Call("GET", f"{job_path(TRAIN, job_id)}/report", dict)


def encode_job_manifest(job_id: str) -> Call[dict[str, Any]]:
    """Return the manifest of what a job wrote, which names its files."""
    return Call("GET", f"{job_path(ENCODE, job_id)}/manifest", dict)


def encode_job_file(job_id: str, name: str) -> Call[bytes]:
    """Return one of the files that a job wrote."""
    path = f"{job_path(ENCODE, job_id)}/files/{in_path(name, 'name')}"
    return Call("GET", path, _bytes, accept="application/octet-stream")


def job_path(kind: str, job_id: str) -> str:
    """Return the path of a job."""
    return f"{kind}/{in_path(job_id, 'job_id')}"


def _bytes(answer: httpx.Response) -> bytes:
    return answer.content
