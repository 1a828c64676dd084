"""``python -m benchmarks formats``: token files beside those of the peers' own writers, and through their readers.

GPT-2's vocabulary; documents, and chats with labels. The examples that a peer writes are those that tokd has written to
Parquet. No speed is measured.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks import format_peer, peers, process, report
from benchmarks.corpora import data_dir
from tokenizer_core import LayoutName, Tokenizer, encode_corpus
from tokenizer_core.token_files.layouts import LAYOUTS
from tokenizer_core.zstd import zstd

DOCUMENTS = 1500
TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}{{ eos_token }}{% endfor %}"
PEERS: dict[LayoutName, str] = {
    "megatron": "megatron-core",
    "ds": "datatrove",
    "mds": "mosaicml-streaming",
    "litdata": "litdata",
    "nanogpt": "numpy, as nanoGPT's script",
    "llmc": "numpy, as llm.c's script",
    "memmap": "dolma",
    "parquet": "datasets",
    "arrow": "datasets",
}
WITHOUT_PEER = {".mask"}
"""Suffixes of files for which the format has no writer."""


def corpus(folder: Path) -> dict[str, Path]:
    """Write documents, and chats of pairs of them."""
    shard = min((data_dir() / "corpora" / "mixed").glob("*.jsonl.zst"))
    with zstd.open(shard) as file:
        data = file.read()
    lines = data.split(b"\n")[:DOCUMENTS]
    texts = [json.loads(line)["text"][:2000] or "-" for line in lines]
    chats = [
        {"messages": [{"role": "user", "content": user}, {"role": "assistant", "content": assistant}]}
        for user, assistant in zip(texts[::2], texts[1::2], strict=True)
    ]
    found = {"documents": folder / "documents.jsonl", "chats": folder / "chats.jsonl"}
    found["documents"].write_bytes(b"\n".join(lines) + b"\n")
    found["chats"].write_text("".join(json.dumps(chat) + "\n" for chat in chats), encoding="utf-8")
    return found


def run(layout: LayoutName, what: str, *paths: Path) -> Any:
    """Let a peer write or read in its own environment; ``None`` if it fails."""
    try:
        return process.ask("format_peer", what, layout, *paths, python=peers.writer(PEERS[layout]))
    except process.Failed as why:
        print(f"{PEERS[layout]}: {why}", file=sys.stderr)
        return None


def content(path: Path) -> bytes:
    """Return what a file holds, unpacked: the header of gzip has the time."""
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def compared(ours: Path, theirs: Path) -> list[str]:
    """Name the files that are not equal."""
    names = {path.name for folder in (ours, theirs) for path in folder.iterdir() if path.is_file()}
    names = {name for name in names if name != "manifest.json" and Path(name).suffix not in WITHOUT_PEER}
    return [
        name
        for name in sorted(names)
        if not ((ours / name).exists() and (theirs / name).exists()) or content(ours / name) != content(theirs / name)
    ]


def verdicts(layout: LayoutName, what: str, folder: Path, source: Path, tokenizer: Tokenizer) -> dict[str, Any]:
    """Compare one format."""
    options: dict[str, Any] = {"messages": "messages"} if what == "chats" else {"eos": LAYOUTS[layout].eos}
    ours, theirs, rows = (folder / f"{layout}-{what}-{name}" for name in ("ours", "theirs", "rows"))
    encode_corpus(source, tokenizer, ours, layout=layout, special_tokens="text", **options)
    encode_corpus(source, tokenizer, rows, layout="parquet", special_tokens="text", **options)
    (examples,) = rows.glob("*.parquet")
    written = "no writer of its own"
    if layout in format_peer.WRITERS:
        theirs.mkdir()
        if run(layout, "write", examples, theirs, source) is None:
            written = "failed"
        else:
            unequal = compared(ours, theirs)
            written = f"unequal: {', '.join(unequal)}" if unequal else "equal"
    told = run(layout, "read", ours)
    ids = [row.values.to_numpy() for row in pq.read_table(examples).column("input_ids")]
    read = "failed" if told is None else format_peer.agreement(told, ids)
    return {"format": layout, "of": what, "peer": PEERS[layout], "written": written, "read": read}


def table(document: dict[str, Any]) -> str:
    """Write the result as Markdown."""
    head = ["format", "of", "peer", "files beside its writer's", "tokens through its reader"]
    return report.page(report.table(head, (one.values() for one in document["results"])))


def main(*, short: bool) -> int:
    """Compare, write ``results/formats.json`` and ``.md``, print the table; fail where something is not equal."""
    peers.prepare_writers("datatrove", "mosaicml-streaming", "dolma")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        Tokenizer.from_hf(data_dir() / "vocabs" / "gpt2_tokenizer.json").save(folder / "gpt2")
        tokenizer = Tokenizer.open(folder / "gpt2").with_roles(eos="<|endoftext|>").with_template(TEMPLATE)
        sources = corpus(folder)
        results = [
            verdicts(layout, what, folder, source, tokenizer) for layout in PEERS for what, source in sources.items()
        ]
    report.tell("formats", table, short=short, results=results)
    return int(
        any(one["written"] not in ("equal", "no writer of its own") or one["read"] != "equal" for one in results)
    )
