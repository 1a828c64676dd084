"""What a caller names as a corpus, held against what this server lets jobs read, before a job is queued.

The run itself holds every file and every connection against the same bounds: a link may be made later, and what a name
of a host stands for may change.
"""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterable
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import orjson

from service.errors import ServiceError, quote
from service.routes.train_job.uploads import too_large, written
from service.schemas import CorpusRequest
from service.settings import Settings

NEVER = frozenset(("", "file", "local", "memory", "data", "dir", "filecache", "simplecache", "blockcache", "cached"))
"""Schemes that would read this server's own files or memory, past the roots."""


def check(corpus: CorpusRequest, settings: Settings) -> None:
    """Refuse a corpus that is no one kind, or that is not to be read.

    Errors:
        ``missing_field``, ``invalid_option``, ``forbidden_corpus``; ``path`` names the entry.
    """
    given = [name for name in ("texts", "files", "urls") if getattr(corpus, name) is not None]
    if not given:
        raise ServiceError("missing_field", "a corpus needs texts, files or urls", "corpus")
    if len(given) > 1:
        raise ServiceError("invalid_option", f"a corpus has {' and '.join(given)}; send one of them", "corpus")
    (kind,) = given
    entries = getattr(corpus, kind)
    if not entries:
        raise ServiceError("invalid_value", f"there are no {kind}", f"corpus.{kind}")
    roots = [Path(root).resolve() for root in settings.corpus_roots]
    for index, entry in enumerate(entries):
        path = f"corpus.{kind}[{index}]"
        if kind == "files":
            _check_file(entry, path, roots)
        elif kind == "urls":
            _check_url(entry, path, settings.corpus_schemes)


def described(corpus: CorpusRequest) -> dict[str, Any]:
    """Describe files or URLs as a recipe does."""
    paths = corpus.urls if corpus.files is None else corpus.files
    return {"paths": paths, "format": corpus.format, "field": corpus.field, "column": corpus.column}


def store(texts: Iterable[str], path: Path, max_bytes: int) -> str:
    """Write texts to a file of JSON lines, and return the hash of what it holds.

    Errors:
        ``empty_corpus``, ``corpus_too_large``, ``disk_full``
    """
    hashed, size = hashlib.sha256(), 0
    with written(), path.open("xb") as file:
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


def _check_file(name: str, path: str, roots: Iterable[Path]) -> None:
    refused = ServiceError(
        "forbidden_corpus", f"jobs may not read {quote(name)}; name an absolute path below a corpus root", path
    )
    if not name or "\0" in name or "://" in name or "::" in name or not name.startswith("/"):
        raise refused
    parts = name.split("/")
    if ".." in parts:
        raise refused
    # Of a pattern only what stands before it can be looked up now.
    fixed = next((at for at, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    try:
        real = Path(os.path.realpath("/".join(parts[:fixed]) or "/"))
    except (OSError, ValueError):
        raise refused from None
    if not any(real.is_relative_to(root) for root in roots):
        raise refused


def _check_url(url: str, path: str, schemes: Iterable[str]) -> None:
    allowed = sorted(set(schemes) - NEVER)
    try:
        found = urlsplit(url)
        host = unquote(found.hostname or "")
    except ValueError:
        raise ServiceError("forbidden_corpus", f"{quote(url)} is no URL", path) from None
    if found.scheme not in allowed or "::" in url or "\0" in unquote(url):
        said = ", ".join(allowed) or "none"
        raise ServiceError("forbidden_corpus", f"jobs may read URLs of these schemes: {said}", path)
    if found.username is not None or found.password is not None or not host:
        raise ServiceError("forbidden_corpus", "the URL must name a host, and no user or password", path)
    if _is_private(host):
        raise ServiceError("forbidden_corpus", "the URL leads to an address that is not public", path)


def _is_private(host: str) -> bool:
    """Tell whether a host is, by its name alone, none of the public ones."""
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith((".localhost", ".local", ".internal")):
        return True
    try:
        address = ip_address(name.partition("%")[0])
    except ValueError:
        # Resolvers also read 2130706433 and 0x7f.1 as addresses, and no public host is called so.
        return name.rpartition(".")[2][:1].isdigit()
    mapped = getattr(address, "ipv4_mapped", None)
    return not (address if mapped is None else mapped).is_global
