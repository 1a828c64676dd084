"""Requests about jobs that encode a corpus into the files of trainers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from service.client.answers import EncodeJob, EncodeJobPage
from service.client.arguments import encoded, file_of, in_path, several
from service.client.call import Call
from service.client.calls import to_json_with_null
from service.client.jobs import CorpusOptions, SubmitOptions, given_options, job_query, key_header
from tokenizer_core import InvalidOption

_PATH = "/encode-job"


class EncodeOptions(SubmitOptions, total=False):
    """Options of a submission; ``settings`` are those of the HTTP API, and a tokenizer is named by a reference."""

    tokenizer: str


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
    named = EncodeOptions.__optional_keys__
    about = given_options(options, named, "tokenizer", "name")
    files_are = given_options(options, named, *CorpusOptions.__optional_keys__)
    settings: Any = options.get("settings") or {}
    if not isinstance(settings, Mapping):
        raise InvalidOption(f"settings are values by name, not {type(settings).__name__}", field="settings")
    headers = key_header(options)
    if kind == "files":
        form = {name: encoded(value, name) for name, value in (about | files_are).items()}
        form = {"settings": to_json_with_null(settings), **form}
        return Call("POST", _PATH, EncodeJob, None, headers=headers, form=form, files=tuple(map(file_of, corpus)))
    body = {"corpus": {"files" if kind == "paths" else kind: corpus, **files_are}, "settings": settings, **about}
    return Call("POST", _PATH, EncodeJob, body, headers=headers)


def encode_job(job_id: str) -> Call[EncodeJob]:
    """Return the present state of a job that encodes."""
    return Call("GET", encode_job_path(job_id), EncodeJob)


def encode_jobs(*states: str, limit: int = 50, before: str | None = None) -> Call[EncodeJobPage]:
    """List your jobs that encode, newest first: those in one of the states, or all."""
    return Call("GET", f"{_PATH}?{job_query(states, limit, before)}", _page)


def cancel_encode_job(job_id: str) -> Call[EncodeJob]:
    """Cancel a job that encodes."""
    return Call("DELETE", encode_job_path(job_id), EncodeJob)


def encode_job_manifest(job_id: str) -> Call[dict[str, Any]]:
    """Return the manifest of what a job wrote, which names its files."""
    return Call("GET", f"{encode_job_path(job_id)}/manifest", dict)


def encode_job_file(job_id: str, name: str) -> Call[bytes]:
    """Return one of the files that a job wrote."""
    path = f"{encode_job_path(job_id)}/files/{in_path(name, 'name')}"
    return Call("GET", path, lambda answer: bytes(answer.content), accept="application/octet-stream")


def encode_job_path(job_id: str) -> str:
    """Return the path of a job that encodes."""
    return f"{_PATH}/{in_path(job_id, 'job_id')}"


def _page(answer: dict[str, Any]) -> EncodeJobPage:
    return EncodeJobPage({"jobs": [EncodeJob(each) for each in answer["jobs"]], "next": answer["next"]})
