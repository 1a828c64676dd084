"""``tokd inspect`` and ``tokd check`` of the token files that ``tokd encode-corpus`` has written."""

from __future__ import annotations

from pathlib import Path

from service.cli.progress import amount
from service.cli.streams import CommandError, counted, printable, write_json, write_line, write_result
from tokenizer_core import TokenFiles, Tokenizer, check_token_files, is_token_files

_SHOWN = 20
"""Shards and sources in the text; ``--json`` has all."""


def holds_token_files(path: Path) -> bool:
    """Tell whether token files are there, and not an artifact.

    Raises:
        CommandError: nothing is there.
    """
    try:
        path.stat()
    except FileNotFoundError:
        message = f"neither an artifact nor an encoded corpus is at {path}; give the directory that -o of import or "
        raise CommandError("artifact_not_found", f"{message}encode-corpus named") from None
    except (OSError, ValueError):
        # The refusal of an artifact says why.
        return False
    return is_token_files(path)


def show_token_files(files: TokenFiles, *, as_json: bool) -> None:
    """Print what the manifest says."""
    if as_json:
        write_json(files.manifest)
        return
    found = files.manifest
    eos = found["eos"]
    size = sum(facts["bytes"] for shard in files.shards for facts in shard.files.values())
    rows = [
        ("format", files.layout),
        ("tokenizer", f"{found['name']}  {files.tokenizer}"),
        ("fingerprint", found["fingerprint"]),
        ("ids", f"{files.dtype}, below {found['vocab_size']:,}"),
        ("end of text", "none" if eos["id"] is None else f"{eos['id']} {eos['place']} each document"),
        ("special tokens", found["special_tokens"]),
        ("order", "of the corpus" if found["shuffle"] is None else f"shuffled with seed {found['shuffle']}"),
        ("documents", f"{files.documents:,}"),
        ("left out", f"{files.skipped:,}"),
        ("tokens", f"{files.tokens:,}"),
        *(
            []
            if found["messages"] is None
            else [("trained on", f"{found['trained']:,} ({found['messages']['train_on']})")]
        ),
        ("shards", f"{len(files.shards):,}, {amount(size, 'bytes')}"),
    ]
    if files.trained is not None:
        rows.append(("trained on", counted(files.trained, "token")))
    for shard in files.shards[:_SHOWN]:
        name = next(iter(shard.files.values()))["name"]
        rows.append(("", f"{name}  {counted(shard.documents, 'document')}  {counted(shard.tokens, 'token')}"))
    sources = dict.fromkeys(source["name"] for shard in found["shards"] for source in shard["sources"])
    rows.append(("sources", f"{len(sources):,}"))
    rows += [("", name) for name in list(sources)[:_SHOWN]]
    width = max(len(label) for label, _ in rows)
    write_line("\n".join(f"{label:<{width}}  {printable(value)}" for label, value in rows))


def check_and_show(path: Path, artifact: str | None, *, as_json: bool) -> int:
    """Verify token files and print what is wrong; return the exit status."""
    report = check_token_files(path, None if artifact is None else Tokenizer.open(artifact))
    found = {name: getattr(report, name) for name in ("ok", "problems", "documents", "tokens", "sampled")}
    size = f"{counted(report.documents, 'document')}, {counted(report.tokens, 'token')}"
    again = f"{report.sampled:,}" if report.has_borders else f"no borders of documents in {report.files.layout}, none"
    read = f"{size} read, {again} encoded again"
    verdict = "nothing is wrong" if report.ok else counted(len(report.problems), "problem")
    write_result(found, "\n".join([read, *map(printable, report.problems), verdict]), as_json=as_json)
    return 0 if report.ok else 1
