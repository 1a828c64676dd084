"""What is damaged, gone or left behind below ``.tokenizers`` costs itself alone: neither a start nor another change."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from service.hot_reload import HotReload
from service.registry.incoming import UPLOADS, incoming, sweep
from service.setting_values import InvalidSetting
from tests.service.conftest import MakeClient, RunServer, app_of
from tests.service.problems import assert_problem
from tests.service.registry.conftest import TEXT, add, ids_of
from tests.support.damages import DAMAGES
from tests.support.waiting import until
from tokenizer_core import Tokenizer


@pytest.fixture
def options(sources: Path, tmp_path: Path) -> dict[str, Any]:
    return {"tokenizers": str(tmp_path / "tokenizers"), "tokenizer_roots": (str(sources),)}


@pytest.fixture
def place(options: dict[str, Any], make_client: MakeClient, sources: Path) -> Path:
    """The directory of the additions ``one`` and ``two`` with the aliases ``org/one`` and ``org/two``."""
    client = make_client(**options)
    for name in ("one", "two"):
        assert add(client, name, sources / name).status_code == 201
        assert client.put(f"/tokenizers/org/{name}", json={"tokenizer": name}).status_code == 200
    return Path(options["tokenizers"], ".tokenizers")


def directory_of(place: Path, name: str) -> Path:
    (found,) = place.glob(f"*-{name}")
    return found


@pytest.mark.parametrize(
    "damage", ["nested manifest", "no manifest", "no tokenizer", "pipe", "longer file", "no directory"]
)
def test_a_damaged_tokenizer_takes_only_its_aliases_along_until_it_is_repaired(
    make_client: MakeClient,
    options: dict[str, Any],
    place: Path,
    caplog: pytest.LogCaptureFixture,
    sources: Path,
    damage: str,
) -> None:
    one, two = (Tokenizer.open(sources / name).encode(TEXT).tolist() for name in ("one", "two"))
    directory = directory_of(place, "two")
    shutil.copytree(directory, place.parent.parent / "copy")
    if damage == "no directory":
        shutil.rmtree(directory)
    else:
        DAMAGES[damage][0](directory)
    client = make_client(**options)
    assert (ids_of(client, "one"), ids_of(client, "org/one")) == (one, one)
    for name in ("two", "org/two"):
        assert ids_of(client, name) == "tokenizer_not_found"
        assert client.post("/tokenize", json={"prompt": "a", "model": name}).status_code == 404
    assert "org/two" in caplog.text
    # Other changes go on, and what an alias means stays in use.
    assert client.put("/tokenizers/live", json={"tokenizer": "one"}).status_code == 200
    assert_problem(client.delete("/tokenizers/two"), "tokenizer_in_use")
    assert_problem(add(client, "org-two", sources / "nothing"), "artifact_unusable", path="source")
    assert_problem(client.delete("/tokenizers/one"), "tokenizer_in_use")
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(place.parent.parent / "copy", directory)
    app_of(client).hot_reload.follow()
    assert (ids_of(client, "two"), ids_of(client, "org/two"), ids_of(client, "live")) == (two, two, one)


def test_a_default_that_is_damaged_is_named_with_its_damage(
    make_client: MakeClient, options: dict[str, Any], place: Path
) -> None:
    DAMAGES["no tokenizer"][0](damaged := directory_of(place, "one"))
    with pytest.raises(InvalidSetting) as caught:
        make_client(**options, default_tokenizer="one")
    assert caught.value.source == "default_tokenizer"
    assert f"'one' is damaged: {damaged} cannot be opened: " in str(caught.value)
    assert make_client(**options, default_tokenizer="two").get("/readyz").status_code == 200


def test_a_damaged_tokenizer_can_be_removed_with_its_alias_or_added_again(
    make_client: MakeClient, options: dict[str, Any], place: Path, sources: Path
) -> None:
    for name in ("one", "two"):
        (directory_of(place, name) / "tokenizer.json").write_text("{")
    client = make_client(**options)
    assert client.delete("/tokenizers/org/one").status_code == 204
    assert client.delete("/tokenizers/one").status_code == 204
    assert add(client, "two", sources / "two").status_code == 201
    expected = Tokenizer.open(sources / "two").encode(TEXT).tolist()
    assert ids_of(client, "org/two") == ids_of(client, "two") == expected
    assert client.put("/tokenizers/org/two", json={"tokenizer": "bare"}).status_code == 200


def test_a_damaged_tokenizer_in_whose_stead_another_is_added_is_put_aside_and_never_removed(
    make_client: MakeClient, options: dict[str, Any], place: Path, sources: Path, caplog: pytest.LogCaptureFixture
) -> None:
    damaged = directory_of(place, "two")
    (damaged / "tokenizer.json").write_text("{")
    before = {each.name: each.read_bytes() for each in damaged.iterdir()}
    client = make_client(**options)
    assert add(client, "two", sources / "one").status_code == 201
    (aside,) = place.glob(".*.damaged-*")
    assert {each.name: each.read_bytes() for each in aside.iterdir()} == before
    assert f"put aside as {aside.name}" in caplog.text
    assert ids_of(make_client(**options), "two") == Tokenizer.open(sources / "one").encode(TEXT).tolist()


def test_aliases_of_what_the_settings_no_longer_have_or_have_otherwise_are_left_out(
    make_client: MakeClient, options: dict[str, Any], place: Path, sources: Path
) -> None:
    aliases = {
        "a": "b",
        "b": "a",
        "framed": "one",
        "org/set": "one",
        "gone": "nobody",
        "deep": "gone",
        "good": "org/one",
    }
    (place / "served.json").write_text(json.dumps({"aliases": aliases | {"org/one": "one"}}))
    one = Tokenizer.open(sources / "one").encode(TEXT).tolist()
    client = make_client(**options, models=("org/set=bare",))
    assert ids_of(client, "good") == one
    assert ids_of(client, "org/set") == ids_of(client, "bare")
    assert ids_of(client, "framed") != one
    assert {ids_of(client, name) for name in ("a", "b", "gone", "deep")} == {"tokenizer_not_found"}
    for name in ("a", "framed"):
        assert_problem(client.put("/tokenizers/x", json={"tokenizer": "nobody"}), "tokenizer_not_found", "tokenizer")
        assert client.delete(f"/tokenizers/{name}").status_code == 204
    assert client.get("/tokenizers/framed").status_code == 200


@pytest.mark.parametrize("of_settings", [False, True])
def test_a_name_whose_tokenizer_goes_and_comes_back_blocks_no_change(
    make_client: MakeClient, options: dict[str, Any], sources: Path, tmp_path: Path, of_settings: bool
) -> None:
    directory = Path(options["tokenizers"])
    Tokenizer.open(sources / "one").save(directory / "seen", name="seen")
    models = ("org/seen=seen",) if of_settings else ()
    client = make_client(**options, models=models)
    hot_reload: HotReload = app_of(client).hot_reload
    if not of_settings:
        assert client.put("/tokenizers/org/seen", json={"tokenizer": "seen"}).status_code == 200
    expected = ids_of(client, "seen")
    (directory / "seen").rename(tmp_path / "away")
    hot_reload.follow()
    assert ids_of(client, "org/seen") == ids_of(client, "seen") == "tokenizer_not_found"
    assert add(client, "mine", sources / "two").status_code == 201
    assert client.put("/tokenizers/live", json={"tokenizer": "mine"}).status_code == 200
    (tmp_path / "away").rename(directory / "seen")
    hot_reload.follow()
    assert ids_of(client, "org/seen") == expected
    assert_problem(client.delete("/tokenizers/mine"), "tokenizer_in_use")


WRONG = {
    "nothing": b"",
    "a list": b"[]",
    "no tables": b"{}",
    "half": b'{"tokenizers": {',
    "zeros": bytes(64),
    "deep brackets": b"[" * 200_000,
    "deep objects": b'{"a":' * 200_000,
    "a NUL": b'{"aliases": {"a\\u0000": "one"}}',
    "a surrogate": b'{"aliases": {"a": "\\ud800"}}',
    "a number": b'{"aliases": {"a": 1}}',
    "a pattern": b'{"aliases": {"*": "one"}}',
    "latin-1": b'{"aliases": {"\xe9": "one"}}',
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_file_that_is_not_ours_is_named_at_the_start_and_changes_nothing_while_running(
    make_client: MakeClient, options: dict[str, Any], place: Path, sources: Path, wrong: str
) -> None:
    client = make_client(**options)
    expected = ids_of(client, "one")
    (place / "served.json").write_bytes(WRONG[wrong])
    with pytest.raises(InvalidSetting, match=r"served\.json"):
        make_client(**options)
    app_of(client).hot_reload.follow()
    assert ids_of(client, "org/one") == expected
    assert_problem(add(client, "mine", sources / "one"), "artifact_damaged")
    assert_problem(client.delete("/tokenizers/org/one"), "artifact_damaged")
    assert (place / "served.json").read_bytes() == WRONG[wrong]
    assert len([each for each in place.iterdir() if (each / "manifest.json").exists()]) == 2


@pytest.mark.parametrize("setting", ["trained", "tokenizers"])
def test_what_the_earlier_version_wrote_is_found_again_and_changed_as_ever(
    make_client: MakeClient, options: dict[str, Any], place: Path, sources: Path, setting: str
) -> None:
    one, two = (Tokenizer.open(sources / name) for name in ("one", "two"))
    # That version named each artifact in its file, too.
    listed = {name: directory_of(place, name).name for name in ("one", "two")}
    earlier = {"tokenizers": listed, "aliases": {"org/one": "one", "org/two": "two"}}
    (place / "served.json").write_text(json.dumps(earlier, indent=1))
    two.save(place.parent / f"{two.hash.removeprefix('sha256:')}-made", name="made")
    options = {setting: options["tokenizers"], "tokenizer_roots": options["tokenizer_roots"]}
    client = make_client(**options)
    expected = {"one": one, "org/one": one, "two": two, "org/two": two, "made": two, two.hash: two}
    assert {name: ids_of(client, name) for name in expected} == {
        name: tokenizer.encode(TEXT).tolist() for name, tokenizer in expected.items()
    }
    names = [each["name"] for each in client.get("/tokenizers").json()["tokenizers"]]
    assert names == ["framed", "bare", "one", "two"]
    assert json.loads((place / "served.json").read_text()) == earlier
    assert add(client, "mine", sources / "one").status_code == 201
    # The earlier version reads no such file, so that it does not put aside what its list lacks.
    assert json.loads((place / "served.json").read_text()) == {"aliases": earlier["aliases"]}
    client = make_client(**options)
    for name, tokenizer in {**expected, "mine": one}.items():
        assert ids_of(client, name) == tokenizer.encode(TEXT).tolist()
    assert_problem(client.delete("/tokenizers/one"), "tokenizer_in_use")
    assert client.delete("/tokenizers/mine").status_code == 204


def uploads(place: Path) -> list[str]:
    return sorted(each.name for each in place.iterdir() if each.name.startswith(".incoming-"))


def test_uploads_of_dead_processes_are_swept_at_the_start_and_those_of_living_ones_stay(
    make_client: MakeClient, options: dict[str, Any], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def leave(name: str) -> None:
        (place / name / "files").mkdir(parents=True)
        (place / name / "packed").write_bytes(bytes(100))

    with incoming(place, UPLOADS) as living:
        (living / "packed").write_bytes(b"1")
        leave(".incoming-dead")
        leave(".incoming-dropped-dead")
        hot_reload: HotReload = app_of(make_client(**options)).hot_reload
        hot_reload.follow()
        assert uploads(place) == [living.name]
        leave(".incoming-later")
        hot_reload.follow()
        assert len(uploads(place)) == 2
        monkeypatch.setattr(hot_reload, "_sweep_at", 0.0)
        hot_reload.follow()
        assert uploads(place) == [living.name]
        assert (living / "packed").read_bytes() == b"1"
    assert uploads(place) == []


def test_what_is_swept_away_before_it_is_locked_is_made_again(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def opened(path: Path, flags: int) -> int:
        descriptor = open_(path, flags)
        if Path(path).name.startswith(".incoming-") and not made:
            made.append(Path(path).name)
            monkeypatch.setattr(os, "open", open_)
            sweep(place, UPLOADS)
        return descriptor

    open_ = os.open
    monkeypatch.setattr(os, "open", opened)
    with incoming(place, UPLOADS) as living:
        assert living.is_dir()
        assert made != [living.name]
    assert uploads(place) == []


def test_a_kill_during_an_upload_leaves_nothing_for_longer_than_the_next_start(
    run_server: RunServer, options: dict[str, Any], tmp_path: Path
) -> None:
    place = tmp_path / "tokenizers" / ".tokenizers"
    with run_server(**options) as server:
        url = urlsplit(server.url)
        with socket.create_connection((url.hostname or "", url.port or 0)) as connection:
            head = "POST /tokenizers?name=mine HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/gzip\r\n"
            connection.sendall(f"{head}content-length: 9000000\r\n\r\n".encode() + bytes(3 << 20))
            until(lambda: any(place.glob(".incoming-*/packed")))
            server.process.send_signal(signal.SIGKILL)
            server.process.communicate()
    assert uploads(place) != []
    with run_server(**options):
        until(lambda: uploads(place) == [])
