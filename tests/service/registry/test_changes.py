"""Tokenizers and aliases come and go at run time, by routes, by a directory and by SIGHUP."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

from service.auth.identity import SCOPES
from service.auth.keys import entry, new_key
from service.settings import Settings
from tests.service.conftest import MakeClient, app_of, state_of
from tests.service.problems import assert_problem
from tests.service.registry.conftest import TEXT, add, ids_of, trained_on
from tests.support.server import RunServer, Server, running
from tests.support.waiting import until
from tokenizer_core import Tokenizer


def test_a_tokenizer_is_added_by_its_path_and_removed(changing: TestClient, sources: Path) -> None:
    expected = Tokenizer.open(sources / "one").encode(TEXT).tolist()
    assert ids_of(changing, "mine") == "tokenizer_not_found"
    added = add(changing, "mine", sources / "one")
    assert added.status_code == 201
    assert added.headers["location"] == "/tokenizers/mine"
    assert added.json()["tokenizer"] == Tokenizer.open(sources / "one").hash
    assert ids_of(changing, "mine") == expected
    assert "mine" in [each["name"] for each in changing.get("/tokenizers").json()["tokenizers"]]
    assert changing.delete("/tokenizers/mine").status_code == 204
    assert ids_of(changing, "mine") == "tokenizer_not_found"
    assert_problem(changing.delete("/tokenizers/mine"), "tokenizer_not_found", path="tokenizer")


def test_what_a_template_reads_and_no_token_is_stands_in_the_answer(changing: TestClient, sources: Path) -> None:
    made = Tokenizer.open(sources / "one").with_template("{{ sep_token }}{% if eos_token %}{{ eos_token }}{% endif %}")
    made.save(sources / "short")
    added = add(changing, "short", sources / "short")
    assert added.json()["missing_tokens"] == {"default": ["sep_token"]}
    assert changing.get("/tokenizers/short").json() == added.json()
    audit = changing.get("/tokenizers/short/check").json()
    assert [point["name"] for point in audit["points"] if point["status"] == "failed"] == ["template"]


def test_what_was_added_is_there_after_a_restart_without_its_source(
    make_client: MakeClient, sources: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    Tokenizer.open(sources / "one").save(copy, name="one")
    settings: Any = {"tokenizers": str(tmp_path / "tokenizers"), "tokenizer_roots": (str(tmp_path),)}
    client = make_client(**settings)
    assert add(client, "mine", copy).status_code == 201
    assert client.put("/tokenizers/org/model", json={"tokenizer": "mine"}).status_code == 200
    expected = ids_of(client, "mine")
    for path in copy.iterdir():
        path.unlink()
    again = make_client(**settings)
    assert ids_of(again, "mine") == ids_of(again, "org/model") == expected


def test_an_alias_moves_from_one_tokenizer_to_another(changing: TestClient, sources: Path) -> None:
    for name in ("one", "two"):
        add(changing, name, sources / name)
    for name in ("one", "two", "one"):
        assert changing.put("/tokenizers/live", json={"tokenizer": name}).json()["name"] == name
        assert ids_of(changing, "live") == ids_of(changing, name)
    assert ids_of(changing, "one") != ids_of(changing, "two")
    assert_problem(changing.delete("/tokenizers/one"), "tokenizer_in_use")
    assert changing.delete("/tokenizers/live").status_code == 204
    assert ids_of(changing, "live") == "tokenizer_not_found"
    assert changing.delete("/tokenizers/one").status_code == 204


def test_names_that_are_taken_or_of_the_settings_are_refused(changing: TestClient, sources: Path) -> None:
    for name in ("framed", "bare"):
        assert_problem(add(changing, name, sources / "one"), "tokenizer_exists", path="name")
        assert_problem(changing.put(f"/tokenizers/{name}", json={"tokenizer": "bare"}), "tokenizer_exists", path="name")
        assert_problem(changing.delete(f"/tokenizers/{name}"), "tokenizer_in_use", path="tokenizer")
    assert add(changing, "mine", sources / "one").status_code == 201
    assert_problem(add(changing, "mine", sources / "two"), "tokenizer_exists", path="name")
    for name in ("../x", "", "A B", "con", "sha256:" + "0" * 64, "a/b"):
        assert_problem(add(changing, name, sources / "one"), "invalid_name", path="name")
    assert_problem(changing.put("/tokenizers/live", json={"tokenizer": "nobody"}), "tokenizer_not_found", "tokenizer")
    assert_problem(changing.put("/tokenizers/live", json={"tokeniser": "bare"}), "unknown_field", "tokeniser")


def test_paths_outside_of_the_roots_are_refused_whether_they_exist_or_not(
    changing: TestClient, make_client: MakeClient, sources: Path, artifacts: tuple[str, str], tmp_path: Path
) -> None:
    link = sources / "link"
    link.symlink_to(artifacts[0])
    inside = sources / "inside"
    inside.mkdir()
    (inside / "tokenizer.json").symlink_to("/etc/hostname")
    beside = sources / "beside"
    beside.mkdir()
    (beside / "tokenizer.json").write_bytes((sources / "one" / "tokenizer.json").read_bytes())
    (beside / "tokenizer_config.json").symlink_to("/etc/hostname")
    dotted = sources / ".." / Path(artifacts[0]).parent.name / "framed"
    for source in (
        "/etc",
        "/etc/nothing",
        artifacts[0],
        link,
        dotted,
        inside,
        beside / "tokenizer.json",
        f"{sources}\0",
        f"{sources}/../x",
    ):
        assert_problem(add(changing, "mine", source), "path_forbidden", path="source")
    none = make_client(tokenizers=str(tmp_path / "other"))
    assert_problem(add(none, "mine", sources / "one"), "path_forbidden", path="source")
    link.unlink()
    assert_problem(add(changing, "mine", sources / "nothing"), "artifact_unusable", path="source")


def test_a_trained_tokenizer_gets_a_name_that_stays(changing: TestClient, tmp_path: Path) -> None:
    made = trained_on("slow slower slowest " * 9)
    made.save(tmp_path / "tokenizers" / f"{made.hash.removeprefix('sha256:')}-mine", name="mine")
    assert ids_of(changing, "mine") == made.encode(TEXT).tolist()
    other = trained_on("warm warmer warmest " * 9)
    other.save(tmp_path / "tokenizers" / f"{other.hash.removeprefix('sha256:')}-mine", name="mine")
    until(lambda: ids_of(changing, "mine") == "tokenizer_ambiguous")
    said = changing.post("/encode", json={"text": TEXT, "tokenizer": "mine"}).json()["detail"]
    assert f"mine@{made.hash}" in said
    assert f"mine@{other.hash}" in said
    assert_problem(changing.put("/tokenizers/live", json={"tokenizer": made.hash}), "invalid_value", path="tokenizer")
    assert add(changing, "kept", f"mine@{made.hash}").status_code == 201
    assert ids_of(changing, "kept") == made.encode(TEXT).tolist()


def test_only_an_admin_changes_what_is_served(make_client: MakeClient, sources: Path, tmp_path: Path) -> None:
    keys = {scope: new_key() for scope in SCOPES}
    path = tmp_path / "keys.toml"
    path.write_text("".join(entry(f"k-{scope}", [scope], key) for scope, key in keys.items()))
    client = make_client(keys=str(path), tokenizers=str(tmp_path / "tokenizers"), tokenizer_roots=(str(sources),))
    body = {"name": "mine", "source": str(sources / "one")}
    for scope, key in keys.items():
        headers = {"authorization": f"Bearer {key}"}
        status = 201 if scope == "admin" else 403
        assert client.post("/tokenizers", json=body, headers=headers).status_code == status
        assert client.get("/tokenizers", headers=headers).status_code == 200
        status = 200 if scope == "admin" else 403
        assert client.put("/tokenizers/live", json={"tokenizer": "mine"}, headers=headers).status_code == status
        status = 204 if scope == "admin" else 403
        assert client.delete("/tokenizers/live", headers=headers).status_code == status
    assert client.post("/tokenizers", json=body).status_code == 401


def test_a_page_of_another_site_changes_nothing(changing: TestClient, sources: Path) -> None:
    headers = {"origin": "http://evil.example"}
    body = {"name": "mine", "source": str(sources / "one")}
    assert_problem(changing.post("/tokenizers", json=body, headers=headers), "page_not_allowed", "header origin")
    assert_problem(changing.delete("/tokenizers/x", headers=headers), "page_not_allowed", "header origin")


@pytest.mark.parametrize("of_before", [False, True])
def test_what_is_put_into_the_directory_is_served_as_it_comes_and_goes(
    make_client: MakeClient, sources: Path, tmp_path: Path, of_before: bool
) -> None:
    directory = tmp_path / "tokenizers"
    directory.mkdir()
    given = {"trained": str(tmp_path / "trained"), "watch": str(directory)}
    client = make_client(**(given if of_before else {"tokenizers": str(directory)}))
    follow = app_of(client).hot_reload.follow
    Tokenizer.open(sources / "one").save(directory / "one", name="seen")
    (directory / "broken").mkdir()
    (directory / "broken" / "manifest.json").write_text("{}")
    follow()
    expected = Tokenizer.open(sources / "one").encode(TEXT).tolist()
    assert ids_of(client, "seen") == expected
    assert_problem(client.delete("/tokenizers/seen"), "tokenizer_in_use", path="tokenizer")
    Tokenizer.open(sources / "two").save(directory / "two", name="framed")
    follow()
    assert client.get("/tokenizers/framed").json()["tokenizer"] != Tokenizer.open(sources / "two").hash
    (directory / "one" / "manifest.json").unlink()
    follow()
    assert ids_of(client, "seen") == "tokenizer_not_found"


@pytest.mark.parametrize("setting", ["tokenizers", "watch"])
def test_the_directory_may_hold_what_is_served_anyway(
    make_client: MakeClient, sources: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, setting: str
) -> None:
    """As ``tokd serve --tokenizers artifacts`` does, whose directory jobs publish into as well."""
    directory = tmp_path / "artifacts"
    one, two = Tokenizer.open(sources / "one"), Tokenizer.open(sources / "two")
    one.save(directory / "base", name="base")
    one.save(directory / "copy", name="base")
    (directory / "link").symlink_to(directory / "base")
    two.save(directory / "mine", name="mine")
    # Two of jobs without names, whose hashes are secrets.
    for digit in "ab":
        two.save(directory / (digit * 64), name="tokenizer")
    client = make_client(**{"artifacts": (str(directory / "base"),), setting: f"{tmp_path}/artifacts/../artifacts"})
    served = [each["name"] for each in client.get("/tokenizers").json()["tokenizers"]]
    assert served == ["base", "mine"]
    assert caplog.records == []
    two.save(directory / "other", name="base")
    app_of(client).hot_reload.follow()
    assert [record.getMessage() for record in caplog.records] == [
        f"{tmp_path}/artifacts/../artifacts/other is not served: another tokenizer is called 'base'"
    ]


def test_a_name_in_none_of_many_newer_states_is_unknown(changing: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    # As where tokenizers come and go faster than a request looks.
    monkeypatch.setattr(state_of(changing).registry, "_newer", lambda: lambda: None)
    assert ids_of(changing, "nowhere") == "tokenizer_not_found"


@contextmanager
def asked(url: str, names: dict[str, list[list[int]]], errors: set[str]) -> Iterator[list[int]]:
    """Ask a server all the time from several threads; yield the number of answers of each.

    Args:
        names: the ids that each name may give.
        errors: codes that are right answers too.
    """
    stop, counts, wrong = threading.Event(), [0] * 4, list[str]()

    def ask(index: int) -> None:
        with httpx.Client(base_url=url, timeout=60) as client:
            while not stop.is_set():
                for name, allowed in names.items():
                    try:
                        ids = ids_of(client, name)
                    except httpx.HTTPError as error:
                        ids = repr(error)
                    counts[index] += 1
                    if ids not in allowed and str(ids) not in errors:
                        wrong.append(f"{name}: {ids}")

    with ThreadPoolExecutor(len(counts)) as pool:
        asking = [pool.submit(ask, index) for index in range(len(counts))]
        try:
            yield counts
        finally:
            stop.set()
        for each in asking:
            each.result()
    assert wrong == []
    assert min(counts) > 0


def resident(server: Server) -> int:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


def test_tokenizers_come_and_go_under_load_with_no_wrong_id_and_in_the_same_memory(
    run_server: RunServer, sources: Path, tmp_path: Path
) -> None:
    one, two = (Tokenizer.open(sources / name).encode(TEXT).tolist() for name in ("one", "two"))
    options: Any = {"tokenizers": str(tmp_path / "tokenizers"), "tokenizer_roots": (str(sources),), "access_log": False}
    sizes = []
    with run_server(**options) as server:
        client = server.client
        for name in ("one", "two"):
            add(client, name, sources / name)
        client.put("/tokenizers/live", json={"tokenizer": "one"})
        names = {"one": [one], "two": [two], "live": [one, two], "fleeting": [one]}
        with asked(server.url, names, {"tokenizer_not_found"}):
            for turn in range(60):
                assert add(client, "fleeting", sources / "one").status_code == 201
                target = ("one", "two")[turn % 2]
                assert client.put("/tokenizers/live", json={"tokenizer": target}).status_code == 200
                assert client.delete("/tokenizers/fleeting").status_code == 204
                if turn >= 10:
                    sizes.append(resident(server))
        assert client.get("/metrics").status_code == 200
    assert max(sizes[-20:]) - max(sizes[:20]) < 16 << 10
    left = {each.name for each in (tmp_path / "tokenizers" / ".tokenizers").iterdir()}
    assert len(left) == 4, left


@pytest.mark.nightly
def test_all_processes_follow_and_a_new_name_is_there_at_once(
    run_server: RunServer, sources: Path, tmp_path: Path
) -> None:
    options: Any = {"tokenizers": str(tmp_path / "tokenizers"), "tokenizer_roots": (str(sources),), "workers": 3}
    expected = Tokenizer.open(sources / "one").encode(TEXT).tolist()
    with run_server(**options) as server:
        for turn in range(3):
            name = f"mine{turn}"
            assert add(server.client, name, sources / "one").status_code == 201
            for _ in range(12):
                # Each connection may be another process's.
                with httpx.Client(base_url=server.url) as client:
                    assert ids_of(client, name) == expected
            assert server.client.delete(f"/tokenizers/{name}").status_code == 204
            time.sleep(1)
            for _ in range(12):
                with httpx.Client(base_url=server.url) as client:
                    assert ids_of(client, name) == "tokenizer_not_found"


@pytest.mark.nightly
@pytest.mark.parametrize("workers", [1, 2])
def test_sighup_takes_up_artifacts_under_load_and_loses_no_request(
    sources: Path, artifacts: tuple[str, str], tmp_path: Path, workers: int
) -> None:
    changing = tmp_path / "changing"
    kinds = [Tokenizer.open(sources / name) for name in ("one", "two")]
    allowed = [kind.encode(TEXT).tolist() for kind in kinds]
    kinds[0].save(changing, name="changing")
    bare = Tokenizer.open(artifacts[1]).encode(TEXT).tolist()
    settings = Settings(
        artifacts=(artifacts[1], str(changing)),
        port=0,
        tokenizers=str(tmp_path / "tokenizers"),
        access_log=False,
        workers=workers,
    )
    with running(settings) as server, asked(server.url, {"changing": allowed, "bare": [bare]}, set()):
        for turn in range(100 if workers == 1 else 20):
            kinds[turn % 2].save(changing, name="changing")
            os.kill(server.process.pid, signal.SIGHUP)
            time.sleep(0.02)
        kinds[1].save(changing, name="changing")
        os.kill(server.process.pid, signal.SIGHUP)
        until(lambda: ids_of(server.client, "changing") == allowed[1])
        assert server.process.poll() is None


def test_sighup_reads_the_file_of_settings_and_keeps_the_old_ones_when_it_is_wrong(
    make_client: MakeClient, artifacts: tuple[str, str], tmp_path: Path
) -> None:
    client, path = make_client(), tmp_path / "tokd.toml"
    reload = app_of(client).hot_reload.reload

    def load() -> Settings:
        return Settings.load({"TOKD_SETTINGS_FILE": str(path), "TOKD_PORT": "0"})

    base = f"artifacts = {list(artifacts)}\naccess_log = false\n"
    path.write_text(base + 'models = ["org/model=bare"]\ndefault_tokenizer = "bare"\n')
    assert ids_of(client, "org/model") == "tokenizer_not_found"
    assert reload(load)
    assert ids_of(client, "org/model") == ids_of(client, "bare")
    assert client.post("/count", json={"text": "a"}).json()["tokenizer"] == Tokenizer.open(artifacts[1]).hash
    for wrong in ("models = [", 'artifacts = ["/nowhere"]', "modells = []", "workers = true", 'models = ["a=nobody"]'):
        path.write_text(wrong)
        assert not reload(load)
        assert ids_of(client, "org/model") == ids_of(client, "bare")
    path.write_text(base)
    assert reload(load)
    assert ids_of(client, "org/model") == "tokenizer_not_found"
