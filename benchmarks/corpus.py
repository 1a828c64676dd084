"""``python -m benchmarks corpus``: a corpus to training files in whole processes, bytes proven equal.

Every contender reads JSON lines, plain or packed with zstd, and writes files of its format with GPT-2's vocabulary. Its
time begins with the process and ends with it, so start-up counts. The peers (``benchmarks/corpus_worker.py``) are
llm.c's script, the writer of Megatron-LM behind the same pool of processes, and datatrove's pipeline. The run with one
worker has one processor: tokd's threads are beside the one that reads.
"""

from __future__ import annotations

import compileall
import contextlib
import hashlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import peers, process, report
from benchmarks.corpora import data_dir
from benchmarks.process import ROOT
from tokenizer_core import Tokenizer
from tokenizer_core.zstd import zstd

END_OF_TEXT = 50256
PEERS = {
    "tiktoken": "llm.c's script with tiktoken",
    "megatron": "Megatron-LM's writer with tokenizers",
    "datatrove": "datatrove",
}
FORMATS = {"megatron": "megatron", "datatrove": "ds"}
"""What a peer writes, if not llm.c's files."""

SLOW = ("megatron", "datatrove")
"""Peers that run once."""

LARGE = 10
"""Times that the corpus is repeated to see the memory."""

POLL = 0.02
"""Seconds between two looks at memory."""

GOALS = {"tiktoken": 10.0, "megatron": 60.0, "datatrove": 60.0}
"""Times as fast as a peer, of which the first is the best, with two workers."""

SCALING = 1.7
"""Times as fast with two workers as with one."""

MEGABYTES = 400.0
"""The most memory, of the large corpus too."""


def sources(folder: Path, megabytes: int) -> dict[str, Path]:
    """Write the corpus in both forms."""
    found = {name: folder / name for name in ("jsonl", "jsonl.zst")}
    size = 0
    for each in found.values():
        each.mkdir()
    for shard in sorted((data_dir() / "corpora" / "mixed").glob("*.jsonl.zst")):
        shutil.copy(shard, found["jsonl.zst"])
        plain = found["jsonl"] / shard.name.removesuffix(".zst")
        with zstd.open(shard) as packed, plain.open("wb") as file:
            shutil.copyfileobj(packed, file)
        size += plain.stat().st_size
        if size >= megabytes * 1_000_000:
            break
    return found


def command(contender: str, source: Path, out: Path, artifact: Path, workers: int) -> list[str]:
    """Return the command line of a contender; ``tokd-FORMAT`` is tokd."""
    ours, _, written = contender.partition("-")
    if ours != "tokd":
        python = peers.writer("datatrove") if contender in FORMATS else peers.PYTHON
        return process.command("corpus_worker", contender, source, out, data_dir() / "vocabs", workers, python=python)
    options = ["--format", written, "--eos", str(END_OF_TEXT), "--special-tokens", "text", "--quiet"]
    run = [sys.executable, "-m", "service.cli", "encode-corpus", str(source), "-t", str(artifact), "-o", str(out)]
    # The id stands where the format's trainer expects it.
    return [*run, *options, "--threads", str(workers)]


def peak(pid: int) -> float:
    """Return the peaks of a process and all that it has started, together, in MB."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        own = int(status.partition("VmHWM:")[2].split()[0]) / 1024
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        return own + sum(peak(int(child)) for child in children)
    return 0.0


def measured(contender: str, source: Path, artifact: Path, workers: int) -> dict[str, Any]:
    """Run a contender once: seconds of wall and processor, MB of all its processes, and the hash of its tokens."""
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "out"
        start = time.perf_counter()
        run = command(contender, source, out, artifact, workers)
        one = ["taskset", "-c", str(min(os.sched_getaffinity(0)))] if workers == 1 else []
        # datatrove says much.
        errors = None if contender.startswith("tokd") else subprocess.DEVNULL
        started = subprocess.Popen([*one, *run], env=process.environment(), stdout=subprocess.DEVNULL, stderr=errors)
        megabytes = 0.0
        while os.waitid(os.P_PID, started.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            megabytes = max(megabytes, peak(started.pid))
            time.sleep(POLL)
        wall = time.perf_counter() - start
        _, status, used = os.wait4(started.pid, 0)
        if status:
            raise SystemExit(f"{contender} failed")
        # The tokens of all shards: programs may cut these at other places.
        digest = hashlib.sha256()
        for path in sorted([*out.glob("*.bin"), *out.glob("*.ds")]):
            with path.open("rb") as file:
                # llm.c's header.
                file.seek(1024 if path.name.startswith("tokens_train") else 0)
                while block := file.read(1 << 20):
                    digest.update(block)
    return {
        "wall": wall,
        "processor": used.ru_utime + used.ru_stime,
        "megabytes": megabytes,
        "tokens": digest.hexdigest(),
    }


def table(document: dict[str, Any]) -> str:
    """Write the result as Markdown."""
    heading = (
        f"{document['bytes'] / 1e6:.0f} MB of JSON lines into files of tokens with GPT-2's vocabulary, whole processes,"
        f" median of {document['rounds']}, of the slower peers one; large is {LARGE} times as much;"
        f" {report.on(document)}. Memory is the sum of"
        " the peaks of all processes."
    )
    rows = []
    for one in document["results"]:
        times = one["wall"] / one["of_tokd"]
        cells = [f"{one['bytes'] / 1e6 / one['wall']:.1f}", f"{one['wall']:.2f}", f"{one['processor']:.2f}"]
        faster = "" if times == 1 else f"{times:.1f} times as fast"
        rows.append([one["source"], one["program"], str(one["workers"]), *cells, f"{one['megabytes']:.0f}", faster])
    head = ["source", "program", "workers", "MB/s", "wall s", "processor s", "MB", "tokd is"]
    return report.page(heading, report.table(head, rows))


def cases_of(short: bool) -> list[tuple[str, str, int]]:
    """Return sources, contenders and workers."""
    ours = ("tokd-llmc", "tokd-megatron", "tokd-ds")
    cases = [(source, contender, 2) for source in ("jsonl", "jsonl.zst") for contender in (*ours, *PEERS)]
    cases.append(("jsonl", "tokd-llmc", 1))
    return cases if short else [*cases, ("large", "tokd-llmc", 2)]


def enlarge(corpus: dict[str, Path], folder: Path) -> None:
    """Name every file several times."""
    folder.mkdir()
    for number in range(LARGE):
        for path in corpus["jsonl"].iterdir():
            (folder / f"{number}-{path.name}").hardlink_to(path)
    corpus["large"] = folder


def beside(contender: str) -> str:
    """Return the contender whose tokens are the same."""
    return f"tokd-{FORMATS.get(contender, 'llmc')}"


def main(*, short: bool) -> int:
    """Measure, write ``results/corpus.json`` and ``.md``, print the table; fail where a goal is missed."""
    peers.prepare()
    peers.prepare_writers("datatrove")
    for package in ("service", "tokenizer_core"):
        # An installation has its bytecode, as the peers have.
        compileall.compile_dir(ROOT / package, quiet=1)
    rounds, megabytes = (1, 10) if short else (3, 200)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        Tokenizer.from_hf(data_dir() / "vocabs" / "gpt2_tokenizer.json").save(folder / "gpt2")
        corpus = sources(folder, megabytes)
        size = sum(path.stat().st_size for path in corpus["jsonl"].iterdir())
        enlarge(corpus, folder / "large")
        cases = cases_of(short)
        found: dict[tuple[str, str, int], list[dict[str, Any]]] = {case: [] for case in cases}
        for number in range(rounds):
            for case in cases if number % 2 == 0 else reversed(cases):
                source, contender, workers = case
                if number and (contender in SLOW or source == "large"):
                    continue
                print(f"round {number + 1} of {rounds}: {contender}, {source}", file=sys.stderr)
                found[case].append(measured(contender, corpus[source], folder / "gpt2", workers))
    for (source, contender, _), runs in found.items():
        truth = found[source, beside(contender), 2] if contender in PEERS else runs
        plain = found["jsonl", contender, 2] if source == "jsonl.zst" else runs
        if len({one["tokens"] for one in (*truth, *runs, *plain)}) > 1:
            raise SystemExit(f"{contender} wrote other tokens: no speed is shown")
    medians = {
        case: {key: statistics.median(one[key] for one in runs) for key in ("wall", "processor", "megabytes")}
        for case, runs in found.items()
    }
    results = [
        {
            "source": source,
            "bytes": size * (LARGE if source == "large" else 1),
            "program": PEERS.get(contender, contender),
            "workers": workers,
            **medians[source, contender, workers],
            "of_tokd": medians[source, beside(contender) if contender in PEERS else contender, 2]["wall"],
        }
        for source, contender, workers in cases
    ]
    report.tell("corpus", table, short=short, bytes=size, rounds=rounds, results=results)
    most = max(one["megabytes"] for case, one in medians.items() if "tokd" in case[1])
    two, one = (medians["jsonl", "tokd-llmc", workers]["wall"] for workers in (2, 1))
    missed = {
        f"{GOALS[peer]:g} times {PEERS[peer]}, {source}": medians[source, peer, 2]["wall"]
        < GOALS[peer] * medians[source, beside(peer), 2]["wall"]
        for source in ("jsonl", "jsonl.zst")
        for peer in GOALS
    }
    missed |= {f"{SCALING:g} times one worker": one < SCALING * two, f"{MEGABYTES:g} MB": most > MEGABYTES}
    if not short:
        print("\n".join(f"missed: {goal}" for goal, is_missed in missed.items() if is_missed))
    return int(not short and any(missed.values()))
