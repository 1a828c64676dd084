"""Tokenizers to add to a server, and how it is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

from tests.service.conftest import MakeClient
from tokenizer_core import Tokenizer, train

TEXT = "the quick brown fox, naïve café"


def trained_on(text: str) -> Tokenizer:
    return train([text], vocab_size=270, min_frequency=1)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``one`` and ``two``: artifacts that give other ids for ``TEXT`` than each other."""
    root = tmp_path_factory.mktemp("sources")
    for name, text in (("one", "the quick the quick brown "), ("two", "fox fox café café naïve ")):
        trained_on(text * 9).save(root / name, name=name)
    return root


@pytest.fixture
def changing(make_client: MakeClient, sources: Path, tmp_path: Path) -> TestClient:
    return make_client(tokenizers=str(tmp_path / "tokenizers"), tokenizer_roots=(str(sources),))


def ids_of(client: TestClient | httpx.Client, tokenizer: str) -> Any:
    answer = client.post("/encode", json={"text": TEXT, "tokenizer": tokenizer})
    return answer.json()["ids"] if answer.status_code == 200 else answer.json()["code"]


def add(client: TestClient | httpx.Client, name: str, source: object) -> httpx.Response:
    return client.post("/tokenizers", json={"name": name, "source": str(source)})
