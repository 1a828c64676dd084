"""The check of a caller's corpus against the bounds of what this server lets jobs read, before a job is queued.

The run itself checks every file and every connection against the same bounds: a link may be made later, and the
addresses of a host name may change.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import orjson

from service.errors import ServiceError, quote
from service.job_process.disk import written
from service.registry.places import jobs_directory
from service.routes.jobs.kind import MAX_RECIPE_BYTES
from service.routes.jobs.uploads import require_readable, too_large
from service.schemas.training import CorpusRequest
from service.settings import Settings
from tokenizer_core import Bounds, CorpusForbidden

NEVER = frozenset(("", "file", "local", "memory", "data", "dir", "filecache", "simplecache", "blockcache", "cached"))
"""Schemes that would read this server's own files or memory, past the roots."""


def check(corpus: CorpusRequest, settings: Settings) -> None:
    """Refuse a corpus of no kind, of several, or of what jobs may not read.

    Errors:
        ``missing_field``, ``invalid_option``, ``invalid_value``, ``body_too_large``, ``path_forbidden``,
        ``scheme_forbidden``, ``address_forbidden``; ``path`` names the entry.
    """
    given = [name for name in ("texts", "files", "urls") if getattr(corpus, name) is not None]
    if not given:
        raise ServiceError("missing_field", "a corpus needs texts, files or urls", "corpus")
    if len(given) > 1:
        raise ServiceError("invalid_option", f"a corpus has {' and '.join(given)}; send one of them", "corpus")
    (kind,) = given
    if not getattr(corpus, kind):
        raise ServiceError("invalid_value", f"there are no {kind}", f"corpus.{kind}")
    if kind == "texts":
        for name in ("language", "parallel"):
            if getattr(corpus, name) is not None:
                raise ServiceError("invalid_option", f"texts have no {name}; name files or urls", f"corpus.{name}")
        return
    _check_places(corpus, kind, settings)
    if corpus.parallel is not None:
        _check_places(corpus, "parallel", settings)


def _check_places(corpus: CorpusRequest, kind: str, settings: Settings) -> None:
    """Check the files or URLs of a field."""
    entries = getattr(corpus, kind)
    # Before any of them is looked at, which takes far longer than to read them.
    if sum(len(entry.encode()) for entry in entries) > MAX_RECIPE_BYTES:
        detail = f"the {kind} take more than {MAX_RECIPE_BYTES} bytes; name fewer, or directories and patterns"
        raise ServiceError("body_too_large", detail, f"corpus.{kind}")
    bounds = Bounds(roots=tuple(map(Path, settings.corpus_roots)), closed=(jobs_directory(settings),))
    local = partial(bounds.local, real=bounds.real_roots()) if bounds.roots else None
    for index, entry in enumerate(entries):
        path = f"corpus.{kind}[{index}]"
        if kind == "files" or (kind == "parallel" and "://" not in entry):
            _check_file(entry, path, local)
            # A directory may be called so; of a name that is too long Path.is_file raises.
            if kind == "files" and os.path.isfile(entry):  # noqa: PTH113
                require_readable(entry, corpus.format, path)
        else:
            _check_url(entry, path, settings.corpus_schemes)
            found = urlsplit(entry)
            if kind == "urls" and found.scheme in ("http", "https"):
                require_readable(found.path, corpus.format, path)


def described(corpus: CorpusRequest) -> dict[str, Any]:
    """Describe files or URLs as a recipe does."""
    paths = corpus.urls if corpus.files is None else corpus.files
    described = {"paths": paths, **corpus.model_dump(include={"format", "field", "column", "on_error"})}
    return described | corpus.model_dump(include={"language", "parallel"}, exclude_none=True)


def store(texts: Iterable[str], path: Path, max_bytes: int) -> str:
    """Write texts to a file of JSON lines, and return the hash of what it holds.

    Errors:
        ``empty_corpus``, ``corpus_too_large``, ``disk_full``, ``disk_unwritable``
    """
    hashed, size = hashlib.sha256(), 0
    with written("uploads"), path.open("xb") as file:
        for text in texts:
            line = orjson.dumps({"text": text}, option=orjson.OPT_APPEND_NEWLINE)
            size += len(text.encode("utf-8"))
            if size > max_bytes:
                raise too_large(max_bytes)
            hashed.update(line)
            file.write(line)
        file.flush()
        os.fsync(file.fileno())
    if not size:
        raise ServiceError("empty_corpus", "the texts are empty", "corpus.texts")
    return hashed.hexdigest()


def _check_file(name: str, path: str, local: Callable[[str, str], object] | None) -> None:
    # The run would read a relative path from where its uploads are.
    if not name.startswith("/") or "\0" in name or "::" in name or local is None:
        detail = f"jobs may not read {quote(name)}; name an absolute path below the setting corpus_roots"
        raise ServiceError("path_forbidden", detail, path)
    try:
        local(name, path)
    except CorpusForbidden as error:
        raise ServiceError(error.code, error.message, path) from None


def _check_url(url: str, path: str, schemes: Iterable[str]) -> None:
    allowed = sorted(set(schemes) - NEVER)
    try:
        found = urlsplit(url)
        host = unquote(found.hostname or "")
    except ValueError:
        raise ServiceError("invalid_value", f"{quote(url)} is not a URL", path) from None
    # fsspec would follow a chain such as https://a::file:///etc/passwd; an IPv6 address has its colons in brackets.
    if found.scheme not in allowed or "::" in url.partition("[")[0] + url.partition("]")[2] or "\0" in unquote(url):
        those = ", ".join(allowed) or "none"
        detail = f"jobs may not read {quote(url)}; the setting corpus_schemes allows these schemes: {those}"
        raise ServiceError("scheme_forbidden", detail, path)
    if found.username is not None or found.password is not None or not Bounds.is_public_host(host):
        detail = f"{quote(url)} must name a public host, and no user or password"
        raise ServiceError("address_forbidden", detail, path)
