"""Two tiny artifacts that are trained in the test, a client of the application, and servers that really run."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import httpx
import pytest
from fastapi.testclient import TestClient
from tokenizers import Regex, models, pre_tokenizers, processors, trainers
from tokenizers import Tokenizer as HfTokenizer

from service.app import App, create_app
from service.settings import Settings
from service.state import State
from tokenizer_core import Tokenizer

TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}[{{ message.role }}] "
    "{{ message.content }}{{ eos_token }}{% endfor %}"
    "{% if tools %}{{ tools | tojson }}{% endif %}{% if add_generation_prompt %}[assistant] {% endif %}"
)
SPECIALS = ("<|bos|>", "<|eos|>", "<|pad|>")
GPT2_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
TEXTS = (
    "the quick brown fox jumps over the lazy dog, and the dog sleeps on while the fox runs through the brown wood",
    "naïve café, Grüße aus Köln, こんにちは世界, привет мир, 🙂👍🏽, 1234567890",
    "def encode(text: str) -> list[int]:\n    return [ord(letter) for letter in text]\n",
)
ROOT = Path(__file__).resolve().parents[2]
LISTENS = re.compile(rb"Uvicorn running on (?:unix socket|http://[^:]+:([0-9]+))")


def _write_layout(directory: Path, *, framed: bool) -> Path:
    tokenizer = HfTokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(GPT2_PATTERN), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=400, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False, min_frequency=2
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.add_special_tokens(list(SPECIALS))
    ids = {literal: tokenizer.token_to_id(literal) for literal in SPECIALS}
    if framed:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<|bos|> $A <|eos|>",
            pair="<|bos|> $A $B <|eos|>",
            special_tokens=[(literal, ids[literal]) for literal in SPECIALS[:2]],
        )
    else:
        tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    directory.mkdir()
    tokenizer.save(str(directory / "tokenizer.json"))
    roles = {"bos_token": "<|bos|>", "eos_token": "<|eos|>", "pad_token": "<|pad|>"} if framed else {}
    if framed:
        roles["chat_template"] = TEMPLATE
    (directory / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", "padding_side": "right", **roles})
    )
    return directory


@pytest.fixture(scope="session")
def artifacts(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """``framed``, with a beginning, an end and a pad token, and ``bare``, with none of these roles."""
    base = tmp_path_factory.mktemp("artifacts")
    paths = []
    for name in ("framed", "bare"):
        layout = _write_layout(base / f"{name}-layout", framed=name == "framed")
        Tokenizer.from_hf(layout).save(base / name, name=name)
        paths.append(str(base / name))
    return paths[0], paths[1]


@pytest.fixture(scope="session")
def framed(artifacts: tuple[str, str]) -> Tokenizer:
    return Tokenizer.open(artifacts[0])


@pytest.fixture(scope="session")
def bare(artifacts: tuple[str, str]) -> Tokenizer:
    return Tokenizer.open(artifacts[1])


MakeClient = Callable[..., TestClient]


def app_of(client: TestClient) -> App:
    """Return the application that a client asks."""
    assert isinstance(client.app, App)
    return client.app


def state_of(client: TestClient) -> State:
    """Return what the application of a client runs with."""
    return app_of(client).tokd


@pytest.fixture(scope="session")
def make_client(artifacts: tuple[str, str]) -> MakeClient:
    """Make a client of an application with other settings."""

    def make(**settings: Any) -> TestClient:
        chosen = {"artifacts": artifacts, "access_log": False, **settings}
        app = create_app(Settings(**chosen))
        return TestClient(app, base_url="http://localhost", raise_server_exceptions=False)

    return make


@pytest.fixture(scope="session")
def client(make_client: MakeClient) -> TestClient:
    return make_client()


class Server:
    """A server in a process of its own, which chose its port itself: one that was looked for could be taken by then."""

    def __init__(self, process: subprocess.Popen[bytes], log: IO[bytes], uds: str | None) -> None:
        self.process = process
        self._log = log
        self._wait_until_it_listens()
        port = 0 if uds is not None else int(LISTENS.findall(self.log())[0])
        self.url = "http://tokd" if uds is not None else f"http://127.0.0.1:{port}"
        self.client = httpx.Client(
            base_url=self.url, transport=None if uds is None else httpx.HTTPTransport(uds=uds), timeout=60
        )
        assert self.client.get("/readyz").status_code == 200

    def log(self) -> bytes:
        """Return what it wrote to standard error."""
        return os.pread(self._log.fileno(), 1 << 20, 0)

    def stop(self) -> tuple[bytes, bytes]:
        """End it as an operator does; give what it wrote to standard output and standard error."""
        self.client.close()
        self.process.terminate()
        return self.process.communicate(timeout=60)[0], self.log()

    def _wait_until_it_listens(self) -> None:
        until = time.monotonic() + 60
        while LISTENS.search(self.log()) is None:
            if time.monotonic() > until or self.process.poll() is not None:
                raise AssertionError(f"no server: {self.log().decode()}")
            time.sleep(0.02)


RunServer = Callable[..., Any]


@pytest.fixture(scope="session")
def run_server(artifacts: tuple[str, str]) -> RunServer:
    """Run a real server with other settings, on a free port or on a unix socket."""

    @contextmanager
    def run(**settings: Any) -> Iterator[Server]:
        chosen: dict[str, Any] = {"artifacts": artifacts, "port": 0, **settings}
        path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
        env = {**os.environ, "PYTHONPATH": path, **Settings(**chosen).environment()}
        code = "from service.server import run; from service.settings import Settings; run(Settings.load())"
        with TemporaryFile() as log:
            process = subprocess.Popen(
                [sys.executable, "-c", code],
                env=env,
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
            try:
                server = Server(process, log, chosen.get("uds"))
                try:
                    yield server
                finally:
                    server.client.close()
            finally:
                if process.poll() is None:
                    # Its workers too, which hold the pipe.
                    os.killpg(process.pid, signal.SIGKILL)
                    process.communicate()

    return run
