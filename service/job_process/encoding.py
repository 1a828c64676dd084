"""The process of a job that encodes, started by a worker: ``python -m service.job_process.encoding FILE``."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from service.job_process.pipe import MessageWriter, Watchdog
from service.job_process.process import bounds, run
from service.registry.artifact_dirs import sync_directory
from service.schemas.encode_jobs import EncodingSettings
from tokenizer_core import (
    Claims,
    Files,
    HashMismatch,
    TokenFiles,
    Tokenizer,
    encode_corpus,
    read_token_files,
)

_MANIFEST = "manifest.json"


class Left(Exception):
    """The work of a process that helps is done."""


class HelperClaims(Claims):
    """The claims of a process that helps: it leaves when it is wanted elsewhere, and puts nothing into place."""

    def __init__(self, watchdog: Watchdog, folder: Path) -> None:
        super().__init__(folder)
        self._watchdog = watchdog

    def take(self, name: str) -> bool:
        """Claim a part.

        Raises:
            Left
        """
        if name == self.FINISH or self._watchdog.is_to_leave():
            raise Left
        return super().take(name)


def tokens_of(directory: Path) -> Path:
    """Return where the files of a job are made."""
    return directory / "tokens"


def encode(order: dict[str, Any], watchdog: Watchdog, messages: MessageWriter) -> None:
    """Encode the parts of a corpus, and put the files into their place when the worker lets it.

    A process that helps leaves when no part is left to it.
    """
    directory, helping = Path(order["directory"]), order["helping"]
    place, made = Path(order["target"]) / directory.name, tokens_of(directory)
    messages.phase("encoding")
    # An attempt before may have put them into place and died.
    if not place.exists():
        claims = partial(HelperClaims, watchdog) if helping else Claims
        with suppress(Left):
            _encode_parts(order, made, claims, messages)
    if helping:
        messages.send(left=True)
        return
    messages.phase("publishing")
    written = read_token_files(made if made.exists() else place)
    messages.send(ready=True)
    watchdog.wait_to_publish()
    if made.exists():
        made.rename(place)
        sync_directory(place.parent)
    hash = hashlib.sha256((place / _MANIFEST).read_bytes()).hexdigest()
    published = {"hash": f"sha256:{hash}", "name": order["name"] or "", "directory": place.name}
    messages.send(published={**published, "report": _report(written)})


def _encode_parts(order: dict[str, Any], made: Path, claims: Callable[[Path], Claims], messages: MessageWriter) -> None:
    recipe, options = order["recipe"], {**order["recipe"]["settings"]}
    # The manifest names an uploaded file by its name here, not by the place where this server keeps it.
    os.chdir(order["directory"])
    here = f"{order['directory']}/"
    corpus = {**recipe["corpus"], "paths": tuple(path.removeprefix(here) for path in recipe["corpus"]["paths"])}
    encode_corpus(
        Files(**corpus),
        _tokenizer(recipe),
        made,
        layout=options.pop("format"),
        **options,
        join=True,
        threads=order["threads"],
        bounds=bounds(order, Path()),
        claims=claims,
        progress=lambda now: messages.progress(done=now.done, total=now.total, unit="bytes"),
    )


def _tokenizer(recipe: dict[str, Any]) -> Tokenizer:
    """Open the tokenizer that was meant when the job was submitted.

    Raises:
        HashMismatch: another one has taken its place.
    """
    tokenizer = Tokenizer.open(recipe["tokenizer_path"])
    if tokenizer.hash != recipe["tokenizer"]:
        raise HashMismatch(
            f"another tokenizer, {tokenizer.hash}, has replaced the one of this job; submit it again", field="tokenizer"
        )
    return tokenizer


def _report(written: TokenFiles) -> dict[str, Any]:
    """Return what lists of jobs tell of the files."""
    sizes = [facts["bytes"] for shard in written.shards for facts in shard.files.values()]
    return {
        "format": written.layout,
        "dtype": written.dtype,
        "documents": written.documents,
        "tokens": written.tokens,
        "shards": len(written.shards),
        "bytes": sum(sizes) + sum(written.manifest["index"].values()),
        "skipped": written.skipped,
    }


def main() -> int:
    """Do the job that the file of the command line describes."""
    return run(encode, EncodingSettings.model_fields)


if __name__ == "__main__":
    sys.exit(main())
