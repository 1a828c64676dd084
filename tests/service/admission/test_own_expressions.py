"""A tokenizer that cuts by an expression of its own, and what is more than ids, leave the event loop sooner."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.registry.served import OWN_EXPRESSION_BYTES
from service.schemas.inline import INLINE_SHAPED
from tests.service.conftest import MakeClient
from tests.support.tiny_ranks import BYTES, write_ranks
from tokenizer_core import Responder, Tokenizer, train

OWN = r"\p{L}+|\s+|[^\p{L}\s]+"
LONG = "a b " * (OWN_EXPRESSION_BYTES // 4)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> str:
    directory = tmp_path_factory.mktemp("own")
    path = directory / "own"
    Tokenizer.from_tiktoken(write_ranks(directory / "ranks", BYTES), pattern=OWN).save(path, name="own")
    return str(path)


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each text, or list of texts, was encoded by a thread for large work."""
    seen: list[bool] = []

    def watch(kind: type, name: str) -> None:
        work = getattr(kind, name)

        def watched(*arguments: Any, **options: Any) -> Any:
            answer = work(*arguments, **options)
            if answer is not None and not isinstance(answer, str):
                seen.append(threading.current_thread().name.startswith("tokd-work"))
            return answer

        monkeypatch.setattr(kind, name, watched)

    watch(Responder, "answer_texts")
    for name in ("count", "encode", "encode_batch", "offsets"):
        watch(Tokenizer, name)
    return seen


@pytest.mark.parametrize("default", [True, False])
@pytest.mark.parametrize(
    ("path", "field", "headers"),
    [
        ("/encode", "tokenizer", {}),
        ("/encode", "tokenizer", {"accept": "application/octet-stream"}),
        ("/count", "tokenizer", {}),
        ("/offsets", "tokenizer", {}),
        ("/tokenize", "model", {}),
        ("/v1/tokenize", "model", {}),
    ],
)
def test_own_expressions_leave_the_event_loop_sooner(
    make_client: MakeClient,
    artifacts: tuple[str, str],
    own: str,
    workers: list[bool],
    path: str,
    field: str,
    headers: dict[str, str],
    default: bool,
) -> None:
    client = make_client(artifacts=(own, *artifacts) if default else (*artifacts, own))

    def where(name: str, text: str) -> list[bool]:
        workers.clear()
        body = {"text" if field == "tokenizer" else "prompt": text, field: name}
        answer: httpx.Response = client.post(path, json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        return workers.copy()

    assert where("own", "a b") == [False]
    assert where("own", LONG) == [True]
    assert where("bare", LONG) == [False]


@pytest.mark.parametrize("pattern", [OWN, "gpt2"])
@pytest.mark.parametrize(
    ("path", "field", "asked"),
    [
        ("/encode", "tokenizer", {}),
        ("/encode", "tokenizer", {"max_length": 7}),
        ("/count", "tokenizer", {}),
        ("/offsets", "tokenizer", {}),
        ("/tokenize", "model", {}),
    ],
)
def test_no_text_is_short_enough_for_an_expression_that_a_caller_chose(
    make_client: MakeClient,
    workers: list[bool],
    tmp_path: Path,
    pattern: str,
    path: str,
    field: str,
    asked: dict[str, Any],
) -> None:
    made = train(iter(["low lower lowest"]), 258, pattern=pattern)
    made.save(tmp_path / made.hash.removeprefix("sha256:"), name="trained")
    client = make_client(trained=str(tmp_path))
    body = {"text" if field == "tokenizer" else "prompt": "a b", field: made.hash, **asked}
    for _ in range(2):
        workers.clear()
        assert client.post(path, json=body).status_code == 200
    assert set(workers) == {pattern == OWN}


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("/encode", {"return": ["ids", "attention_mask"]}),
        ("/encode", {"return": ["tokens"]}),
        ("/offsets", {"tokens": True}),
        ("/offsets", {"target_spans": [[0, 1]]}),
    ],
)
def test_what_is_more_than_ids_leaves_the_event_loop_sooner(
    make_client: MakeClient, workers: list[bool], path: str, asked: dict[str, Any]
) -> None:
    client = make_client()
    for text, expected in (("a b", False), ("a" * INLINE_SHAPED, False), ("a" * (INLINE_SHAPED + 1), True)):
        workers.clear()
        assert client.post(path, json={"text": text, **asked}).status_code == 200
        assert set(workers) == {expected}, len(text)
