"""The process of a job that encodes, started by a worker: ``python -m service.job_process.encoding FILE``."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from service.job_process.pipe import MessageWriter, Watchdog
from service.job_process.process import bounds, run
from service.registry.artifact_dirs import sync_directory
from service.schemas.encode_jobs import EncodingSettings
from tokenizer_core import (
    ClaimsOf,
    EncodingProgress,
    Files,
    HashMismatch,
    TokenFiles,
    Tokenizer,
    encode_corpus,
    read_token_files,
)

_MANIFEST = "manifest.json"
FINISH = "finish"
"""What whoever puts the parts of a corpus into place claims."""


class Left(Exception):
    """The work of a process that helps is done."""


class WorkerClaims:
    """The claims of a process, for which its worker asks the database."""

    def __init__(
        self,
        messages: MessageWriter,
        watchdog: Watchdog,
        helping: bool,
        sizes: Mapping[str, int],
        is_done: Callable[[str], bool],
    ) -> None:
        self._messages, self._watchdog, self._helping, self._is_done = messages, watchdog, helping, is_done
        if not helping:
            messages.send(parts=[[key, [size, is_done(key)]] for key, size in sizes.items()])

    def take(self, name: str) -> bool:
        """Claim a part; only the process of the worker that holds the job puts all into place.

        Raises:
            Left
        """
        if name == FINISH:
            if self._helping:
                raise Left
            return True
        self._messages.send(claim=name)
        answer = self._watchdog.answer()
        if answer == "leave":
            raise Left
        return answer == "yes"

    def release(self, name: str) -> None:
        """Give a part back, and say whether it is done."""
        if name != FINISH:
            self._messages.send(release=name, done=self._is_done(name))

    def others(self) -> Iterator[str]:
        """Return nothing: nobody else's claims matter to a run that joins."""
        return iter(())

    def close(self) -> None:
        """Do nothing: the worker gives back what is still held."""


def encode(order: dict[str, Any], watchdog: Watchdog, messages: MessageWriter) -> None:
    """Encode the parts of a corpus, and put the files into their place when the worker lets it.

    A process that helps leaves when no part is left to it.
    """
    directory, helping = Path(order["directory"]), order["helping"]
    place, made = Path(order["target"]) / directory.name, directory / "tokens"
    messages.phase("encoding")
    # An attempt before may have put them into place and died.
    if not place.exists():
        claims = partial(WorkerClaims, messages, watchdog, helping)
        with suppress(Left):
            _encode_parts(order, made, claims, lambda progress: messages.sometimes(read=progress.reading))
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


def _encode_parts(
    order: dict[str, Any], made: Path, claims: ClaimsOf, progress: Callable[[EncodingProgress], object]
) -> None:
    recipe, options = order["recipe"], {**order["recipe"]["settings"]}
    # What was uploaded is named in the manifest by its name here, not by where this server keeps it.
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
        progress=progress,
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
