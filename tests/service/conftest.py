"""Two tiny artifacts that are trained in the test, a client of the application, and servers that really run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.app import App, create_app
from service.settings import Settings
from service.state import ServerState
from tests.support.server import RunServer, Server, running
from tests.support.tokenizers import write_layout
from tokenizer_core import Tokenizer

TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}[{{ message.role }}] "
    "{{ message.content }}{{ eos_token }}{% endfor %}"
    "{% if tools %}{{ tools | tojson }}{% endif %}{% if add_generation_prompt %}[assistant] {% endif %}"
)
SPECIALS = ("<|bos|>", "<|eos|>", "<|pad|>")
ROLES = {"bos_token": "<|bos|>", "eos_token": "<|eos|>", "pad_token": "<|pad|>", "chat_template": TEMPLATE}
TEXTS = (
    "the quick brown fox jumps over the lazy dog, and the dog sleeps on while the fox runs through the brown wood",
    "naïve café, Grüße aus Köln, こんにちは世界, привет мир, 🙂👍🏽, 1234567890",
    "def encode(text: str) -> list[int]:\n    return [ord(letter) for letter in text]\n",
)


@pytest.fixture(scope="session")
def artifacts(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """``framed``, with a beginning, an end and a pad token, and ``bare``, with none of these roles."""
    base = tmp_path_factory.mktemp("artifacts")
    paths = []
    for name in ("framed", "bare"):
        layout = write_layout(
            base / f"{name}-layout",
            texts=TEXTS,
            vocab_size=400,
            min_frequency=2,
            specials=SPECIALS,
            frame=SPECIALS[:2] if name == "framed" else (),
            config=ROLES if name == "framed" else {},
        )
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


def state_of(client: TestClient) -> ServerState:
    """Return what the application of a client runs with."""
    return app_of(client).server_state


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


@pytest.fixture(scope="session")
def run_server(artifacts: tuple[str, str]) -> RunServer:
    """Run a real server with other settings, on a free port or on a unix socket."""

    def run(**settings: Any) -> AbstractContextManager[Server]:
        return running(Settings(**{"artifacts": artifacts, "port": 0, **settings}))

    return run
