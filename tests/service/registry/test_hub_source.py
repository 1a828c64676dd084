"""A tokenizer that is added by its name at the hub, ``hf:ORG/NAME``: fetched, kept, and served without the hub."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.settings import Settings
from tests.service.problems import assert_problem
from tests.support.hub import COMMIT, hub
from tests.support.server import running

__all__ = ["hub"]
pytestmark = pytest.mark.process


def test_a_tokenizer_of_the_hub_is_added_and_is_there_after_a_restart_without_it(
    hub: tuple[dict[str, str], list[str]],
    artifacts: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    variables, asked = hub
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    settings = Settings(artifacts=artifacts, port=0, tokenizers=str(tmp_path / "tokenizers"), worker=False)
    body = {"text": "hello", "tokenizer": "mine"}
    with running(settings) as server:
        client = server.client
        added = client.post("/tokenizers", json={"name": "mine", "source": "hf:org/made"})
        assert (added.status_code, added.json()["name"]) == (201, "mine")
        assert added.json()["provenance"]["imported_from"]["commit"] == COMMIT
        ids = client.post("/encode", json=body).json()["ids"]
        assert ids
        assert not any("safetensors" in path or path.endswith(".py") for path in asked)
        for source, word in (("hf:org/none", "org/none"), ("hf:org/closed", "HF_TOKEN"), ("hf:a/b/c", "hf:ORG/NAME")):
            refused = client.post("/tokenizers", json={"name": "other", "source": source})
            assert 400 <= refused.status_code < 500, refused.text
            assert word in refused.json()["detail"]
            assert refused.json()["path"] == "source"
        again = client.post("/tokenizers", json={"name": "mine", "source": "hf:org/made"})
        assert_problem(again, "tokenizer_exists", path="name")
        assert {each["name"] for each in client.get("/tokenizers").json()["tokenizers"]} == {"framed", "bare", "mine"}
    before = len(asked)
    with running(settings) as server:
        assert server.client.post("/encode", json=body).json()["ids"] == ids
        assert server.client.delete("/tokenizers/mine").status_code == 204
    assert len(asked) == before
