"""The process of a job that encodes, started by a worker: ``python -m service.job_process.encoding FILE``."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path
from typing import Any

from service.job_process.pipe import MessageWriter, Watchdog
from service.job_process.process import bounds, run
from service.schemas.encode_jobs import EncodingSettings
from tokenizer_core import EncodingProgress, Files, HashMismatch, TokenFiles, Tokenizer, encode_corpus, read_token_files

_MANIFEST = "manifest.json"


def encode(order: dict[str, Any], watchdog: Watchdog, messages: MessageWriter) -> None:
    """Encode the parts of a corpus, and put the files into their place when the worker lets it."""

    def send_progress(progress: EncodingProgress) -> None:
        messages.progress(done=progress.done, total=progress.total, unit="bytes")

    directory, recipe = Path(order["directory"]), order["recipe"]
    place, made = Path(order["target"]) / directory.name, directory / "tokens"
    messages.phase("encoding")
    # An attempt before may have put them into place and died.
    if not place.exists():
        # What was uploaded is named in the manifest by its name here, not by where this server keeps it.
        os.chdir(directory)
        here = f"{directory}/"
        corpus = {**recipe["corpus"], "paths": tuple(path.removeprefix(here) for path in recipe["corpus"]["paths"])}
        options = {**recipe["settings"]}
        encode_corpus(
            Files(**corpus),
            _tokenizer(recipe),
            made,
            layout=options.pop("format"),
            **options,
            join=True,
            threads=order["threads"],
            bounds=bounds(order, Path()),
            progress=send_progress,
        )
    messages.phase("publishing")
    written = read_token_files(made if made.exists() else place)
    messages.send(ready=True)
    watchdog.wait_to_publish()
    if made.exists():
        _put_into_place(made, place)
    hash = hashlib.sha256((place / _MANIFEST).read_bytes()).hexdigest()
    published = {"hash": f"sha256:{hash}", "name": order["name"] or "", "directory": place.name}
    messages.send(published={**published, "report": _report(written)})


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


def _put_into_place(made: Path, place: Path) -> None:
    made.rename(place)
    descriptor = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
