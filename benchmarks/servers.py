"""The servers that are measured: how each is started, asked and understood."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import httpx

from benchmarks import peers
from benchmarks.corpora import data_dir
from benchmarks.openers import SPECIAL_TOKENS
from benchmarks.process import ROOT

VOCABULARY = "cl100k_base"
"""All servers have it; ours is an artifact of this name, which smg opens too."""

VLLM_PYTHON = "TOKD_VLLM_PYTHON"
"""The variable that names the Python of vLLM, for the benchmark ``engines``."""

JSON = {"content-type": "application/json"}
_TOKD = "from service.cli import main; raise SystemExit(main())"


@dataclass(frozen=True)
class ServerKind:
    """One kind of server.

    Attributes:
        shown: its name in tables.
        start: the command, for a port and the artifact.
        path: where texts are sent.
        body: a text as it is sent.
        ids: the field of the answer that holds the ids.
    """

    shown: Callable[[], str]
    start: Callable[[int, Path], list[str]]
    path: str
    body: Callable[[str], dict[str, str]]
    ids: str = "ids"


def _by_hand(shown: Callable[[], str], app: str) -> ServerKind:
    options = ["--http", "httptools", "--log-level", "warning", "--no-access-log", "--loop", "uvloop"]
    command = [sys.executable, "-m", "uvicorn", f"benchmarks.{app}", *options, "--port"]
    return ServerKind(shown, lambda port, _: [*command, str(port)], "/encode", lambda text: {"text": text})


def _smg_version() -> str:
    found = next(peers.PEERS.glob("lib/python*/site-packages/smg-*.dist-info"))
    return found.name.removeprefix("smg-").removesuffix(".dist-info")


def _start_smg(port: int, artifact: Path) -> list[str]:
    options = ["--host", "127.0.0.1", "--port", str(port), "--prometheus-port", str(free_port()), "--log-level", "warn"]
    return [str(peers.PYTHON.parent / "smg"), "launch", "--model-path", artifact.name, *options]


SERVER_KINDS = {
    # "text", so that all do the same: the others look for no special token.
    "tokd": ServerKind(
        lambda: "tokd",
        lambda port, artifact: [
            *(sys.executable, "-c", _TOKD, "serve", "--artifact", str(artifact), "--port", str(port)),
            *("--access-log", "false"),
        ],
        "/encode",
        lambda text: {"text": text, "special_tokens": "text"},
    ),
    "bare": _by_hand(lambda: "bare ASGI, our kernel", "bare_service:app"),
    "lists": _by_hand(lambda: "bare ASGI, our kernel, ids as a list", "bare_service:app_with_lists"),
    "smg": ServerKind(
        lambda: f"smg {_smg_version()}",
        _start_smg,
        "/v1/tokenize",
        # The one that it has.
        lambda text: {"model": "", "prompt": text},
        "tokens",
    ),
    "plain": _by_hand(lambda: f"FastAPI + pydantic + tiktoken {metadata.version('tiktoken')}", "plain_service:app"),
}


def available() -> dict[str, ServerKind]:
    """Return the kinds that are installed."""
    has_smg = (peers.PYTHON.parent / "smg").exists()
    return {name: one for name, one in SERVER_KINDS.items() if name != "smg" or has_smg}


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def make_artifact(directory: Path, template: str | None = None) -> Path:
    """Import the public vocabulary that all servers use; with a template chats can be sent, too."""
    from tokenizer_core import Tokenizer

    source = data_dir() / "vocabs" / f"{VOCABULARY}.tiktoken"
    path = directory / VOCABULARY
    tokenizer = Tokenizer.from_tiktoken(source, pattern=VOCABULARY, special_tokens=SPECIAL_TOKENS[VOCABULARY])
    (tokenizer if template is None else tokenizer.with_template(template)).save(path)
    return path


@dataclass(frozen=True)
class Server:
    """A server that runs."""

    kind: ServerKind
    port: int
    process: subprocess.Popen[bytes]

    def cpu_seconds(self) -> float:
        """Return the processor time that the server has taken by now: what load on the machine does not change."""
        return cpu_seconds(self.process)

    def resident(self) -> float:
        """Return the resident memory in MB."""
        lines = [line for one in _processes(self.process) for line in (one / "status").read_text("utf-8").splitlines()]
        return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024

    def ids(self, text: str) -> list[int]:
        """Ask for the ids of one text."""
        url = f"http://127.0.0.1:{self.port}{self.kind.path}"
        answer = httpx.post(url, json=self.kind.body(text), timeout=60)
        answer.raise_for_status()
        ids: list[int] = answer.json()[self.kind.ids]
        return ids


def cpu_seconds(process: subprocess.Popen[bytes]) -> float:
    """Return the processor time that the threads of a process and of its children have taken."""
    tasks = [task for one in _processes(process) for task in (one / "task").iterdir()]
    return sum(int((task / "schedstat").read_text(encoding="ascii").split()[0]) for task in tasks) / 1e9


def _processes(process: subprocess.Popen[bytes]) -> list[Path]:
    found = [process.pid]
    for pid in found:
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (task / "children").read_text(encoding="ascii").split())
    return [Path(f"/proc/{pid}") for pid in found]


@contextmanager
def running(name: str, artifact: Path, core: int | None, more: tuple[str, ...] = ()) -> Iterator[Server]:
    """Run a server on one core, or on all, until it is no longer needed; ``more`` are flags of tokd."""
    kind = SERVER_KINDS[name]
    port = free_port()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "BENCHMARK_ARTIFACT": str(artifact)}
    # tokd refuses a variable that looks like a setting and is none.
    environment.pop(VLLM_PYTHON, None)
    pin = [] if core is None else ["taskset", "--cpu-list", str(core)]
    command = [*pin, *kind.start(port, artifact), *more]
    with started(command, environment, artifact.parent / f"{name}.log") as process:
        server = Server(kind, port, process)
        wait_until_ready(process, lambda: server.ids("a"), artifact.parent / f"{name}.log", 60)
        yield server


@contextmanager
def started(command: list[str], environment: Mapping[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program beside its log until it is no longer needed."""
    with log.open("wb") as file:
        process = subprocess.Popen(command, env=environment, cwd=log.parent, stdout=file, stderr=file)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def wait_until_ready(process: subprocess.Popen[bytes], ask: Callable[[], object], log: Path, seconds: float) -> None:
    """Ask until the answer is one; stop if the program has given up."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and process.poll() is None:
        with suppress(httpx.HTTPError):
            if ask():
                return
        time.sleep(0.05)
    raise SystemExit(f"{log.stem} did not become ready: {log.read_text(encoding='utf-8')[-2000:]}")
