"""``/tokenizers``: what is loaded, and its audit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from service.hot_reload import HotReload
from service.registry.registry import Registry
from service.schemas.answers import CheckAnswer, TokenizerInfo, TokenizerList
from service.setting_values import InvalidSetting
from service.settings import Settings
from service.state import CurrentState
from tests.service.conftest import MakeClient
from tests.service.problems import assert_problem
from tokenizer_core import ArtifactNotFound, Tokenizer


def opened(settings: Settings) -> Registry:
    return HotReload(CurrentState(), settings).open(settings)


def test_list_names_every_tokenizer_and_one_default(client: TestClient, framed: Tokenizer, bare: Tokenizer) -> None:
    body = client.get("/tokenizers").json()
    TokenizerList.model_validate(body)
    assert [(each["name"], each["tokenizer"], each["default"]) for each in body["tokenizers"]] == [
        ("framed", framed.hash, True),
        ("bare", bare.hash, False),
    ]


def test_default_is_chosen_by_the_settings(make_client: MakeClient, bare: Tokenizer) -> None:
    client = make_client(default_tokenizer="bare")
    assert client.post("/count", json={"text": "a"}).json()["tokenizer"] == bare.hash
    assert [each["default"] for each in client.get("/tokenizers").json()["tokenizers"]] == [False, True]


def test_one_tokenizer_is_described_by_any_of_its_references(client: TestClient, framed: Tokenizer) -> None:
    for reference in (framed.name, framed.hash, f"{framed.name}@{framed.hash}"):
        body = client.get(f"/tokenizers/{reference}").json()
        TokenizerInfo.model_validate(body)
        assert body["tokenizer"] == framed.hash
        assert body["vocab_size"] == framed.vocab_size
        assert body["special_tokens"] == framed.special_tokens
        assert body["pad_id"] == framed.special_tokens["<|pad|>"]


def test_first_of_two_artifacts_with_one_hash_answers_to_it(
    make_client: MakeClient, artifacts: tuple[str, str], framed: Tokenizer, tmp_path: Path
) -> None:
    other = replace(framed.settings, pad="<|eos|>", padding_side="left")
    framed.with_parts(replace(framed.parts, settings=other)).save(tmp_path / "other")
    client = make_client(artifacts=(artifacts[0], str(tmp_path / "other")))
    body = {"text": ["a", "the quick fox"], "padding": "longest"}
    first, hashed, second = (
        client.post("/encode", json={**body, "tokenizer": name}).json() for name in ("framed", framed.hash, "other")
    )
    assert first["tokenizer"] == second["tokenizer"] == framed.hash
    assert first == hashed
    assert first["ids"][0][-1] == framed.special_tokens["<|pad|>"]
    assert second["ids"][0][0] == framed.special_tokens["<|eos|>"]
    assert first["ids"][1] == second["ids"][1]


@pytest.mark.parametrize("name", ["con", "foo.", ".hidden", "a" * 129, "C:%5Cx", "x%0A", "%20", "~root", "na%C3%AFve"])
def test_what_cannot_be_a_reference_is_refused(client: TestClient, name: str) -> None:
    assert_problem(client.get(f"/tokenizers/{name}"), "invalid_name", "tokenizer")


def test_audit_has_twelve_points(client: TestClient, framed: Tokenizer) -> None:
    answer = client.get("/tokenizers/framed/check", params={"embedding_rows": framed.vocab_size})
    body = answer.json()
    CheckAnswer.model_validate(body)
    assert body["tokenizer"] == framed.hash
    assert [point["number"] for point in body["points"]] == list(range(1, 13))
    assert {point["name"]: point["status"] for point in body["points"]}["file hashes"] == "passed"


@pytest.mark.parametrize("rows", ["0", "-1", "many", "1.5", "9" * 4000])
def test_bad_query_is_refused_with_its_place(client: TestClient, rows: str) -> None:
    answer = client.get("/tokenizers/framed/check", params={"embedding_rows": rows})
    assert_problem(answer, "invalid_value", "query embedding_rows")


def test_two_artifacts_of_one_name_are_refused(artifacts: tuple[str, str], tmp_path: Path) -> None:
    Tokenizer.open(artifacts[1]).save(tmp_path / "copy", name="framed")
    with pytest.raises(InvalidSetting, match="artifacts has two named 'framed'"):
        opened(
            Settings(
                artifacts=(
                    artifacts[0],
                    str(tmp_path / "copy"),
                )
            )
        )


def test_one_tokenizer_under_two_names_is_found_by_either(artifacts: tuple[str, str], tmp_path: Path) -> None:
    Tokenizer.open(artifacts[0]).save(tmp_path / "copy", name="copy")
    registry = opened(
        Settings(
            artifacts=(
                artifacts[0],
                str(tmp_path / "copy"),
            )
        )
    )
    hash = registry.default.hash
    assert [registry.get(reference).name for reference in ("copy", "framed", hash)] == ["copy", "framed", "framed"]
    assert {registry.get(reference).hash for reference in ("copy", "framed", hash)} == {hash}


def test_unknown_default_is_refused(artifacts: tuple[str, str]) -> None:
    with pytest.raises(InvalidSetting, match="'nobody' is none of the loaded: framed, bare"):
        opened(Settings(artifacts=artifacts, default_tokenizer="nobody"))


def test_missing_artifact_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArtifactNotFound):
        opened(Settings(artifacts=(str(tmp_path / "nothing"),)))
