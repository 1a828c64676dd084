"""Requests with keys: let in, refused in the shape of the route, and keys that change while the server runs."""

from __future__ import annotations

import os
import re
import time
from typing import Any

import pytest
from fastapi.testclient import TestClient
from starlette.routing import Route

from service.app import App
from service.auth import guard
from service.auth.guard import Guard
from service.auth.keys import entry, new_key
from service.auth.route_scopes import ANY_HOST, NEEDS, OPEN
from service.errors import ServiceError
from service.setting_values import InvalidSetting
from tests.service.auth.conftest import KeyRing
from tests.service.conftest import MakeClient
from tests.service.problems import assert_problem
from tests.support.paths import ROOT
from tests.support.waiting import until

TEXT = {"text": "the fox"}


def _methods(route: object) -> set[str]:
    assert isinstance(route, Route)
    return route.methods or set()


def test_every_route_has_its_need_and_every_need_its_route(make_client: MakeClient) -> None:
    client = make_client(check_uploads=True)
    assert isinstance(client.app, App)
    declared = [route.path_format for route in client.app.routes if isinstance(route, Route)]
    assert len(declared) == len(client.app.routes)
    methods = [f"{method} {route.path_format}" for route in client.app.routes for method in _methods(route)]
    assert set(NEEDS) <= {*declared, *methods}
    assert set(declared) <= set(NEEDS)
    assert {path for path, need in NEEDS.items() if need is OPEN} == {
        "/healthz",
        "/readyz",
        "/health",
        "/ping",
        "/version",
        "/_sglang_renderer/ready",
        "/metrics",
        "/docs",
        "/openapi.json",
        "/",
        "/client.js",
        "/client.d.ts",
        "/playground/{name}",
    }


def test_the_pages_list_what_every_route_needs() -> None:
    keys, compat, named = ((ROOT / "docs" / f"{page}.md").read_text("utf-8") for page in ("keys", "compat", "settings"))
    rows = {
        scope: set(re.findall(r"`([^`]+)`", row)) for scope, row in re.findall(r"^\| `(\w+)` \|(.*/.*)$", keys, re.M)
    }
    open_paths = set(re.findall(r"`([^`]+)`", re.findall(r"No key is needed for (.*?)\. ", keys, re.S)[0]))
    assert open_paths == {path for path, need in NEEDS.items() if need is OPEN}
    for path, need in NEEDS.items():
        for scope in need:
            above = {path, *(path[:at] for at, character in enumerate(path) if character == "/")}
            assert above & rows[scope] or (scope == "encode" and path in compat), (scope, path)
    assert all(f"`{path}`" in named.partition("## Names of the server")[2].partition("\n\n")[2] for path in ANY_HOST)


def test_no_route_answers_without_a_key_but_those_that_are_open(guarded: TestClient) -> None:
    assert isinstance(guarded.app, App)
    asked = 0
    for route in guarded.app.routes:
        assert isinstance(route, Route)
        for method in route.methods or ():
            answer = guarded.request(method, route.path_format.replace("{", "").replace("}", ""))
            assert (answer.status_code == 401) is (NEEDS[route.path_format] is not OPEN), route.path
            asked += 1
    assert asked > len(NEEDS)


@pytest.mark.parametrize("header", ["authorization", "x-api-key"])
def test_key_opens_what_its_scopes_say(guarded: TestClient, ring: KeyRing, header: str) -> None:
    before = "Bearer " if header == "authorization" else ""
    for name, encode in [("reader", 200), ("trainer", 403), ("boss", 200)]:
        headers = {header: before + ring.keys[name]}
        assert guarded.post("/encode", json=TEXT, headers=headers).status_code == encode
        assert guarded.get("/tokenizers", headers=headers).status_code == 200


def test_refusal_is_a_problem_with_a_challenge(guarded: TestClient, ring: KeyRing) -> None:
    for headers, challenge in [
        ({}, 'Bearer realm="tokd"'),
        ({"authorization": "Basic YTpi"}, 'Bearer realm="tokd"'),
        ({"authorization": f"Bearer {new_key()}"}, 'Bearer realm="tokd", error="invalid_token"'),
    ]:
        answer = guarded.post("/encode", json=TEXT, headers=headers)
        assert_problem(answer, "unauthorized")
        assert answer.headers["www-authenticate"] == challenge
    answer = guarded.post("/encode", json=TEXT, headers=ring.bearer("trainer"))
    assert_problem(answer, "forbidden")
    assert answer.headers["www-authenticate"] == 'Bearer realm="tokd", error="insufficient_scope", scope="encode"'
    assert_problem(guarded.get("/tokenizers"), "unauthorized")


def test_drop_in_routes_refuse_as_the_server_they_stand_for(guarded: TestClient, ring: KeyRing) -> None:
    for headers, status, kind in [({}, 401, "Unauthorized"), (ring.bearer("trainer"), 403, "Forbidden")]:
        vllm = guarded.post("/tokenize", json={"prompt": "a"}, headers=headers)
        sglang = guarded.post("/v1/tokenize", json={"prompt": "a"}, headers=headers)
        assert vllm.status_code == sglang.status_code == status
        error = vllm.json()["error"]
        assert (error["type"], error["code"], error["param"]) == (kind, status, None)
        assert sglang.json() == {"object": "error", **error}
        assert vllm.headers["www-authenticate"].startswith("Bearer ")
        models = guarded.get("/v1/models", headers={"authorization": "Bearer " + new_key()}).json()["error"]
        assert (models["code"], "not known here" in models["message"]) == ("invalid_api_key", True)
    assert guarded.post("/tokenize", json={"prompt": "a"}, headers=ring.bearer("reader")).status_code == 200


@pytest.mark.parametrize(
    "value",
    ["", "Bearer", "Bearer ", "bearer x y", "Bearer " + "a" * 300, "Bearer tokd_", "Bearer ñ", "KEY", "Bearer\tKEY"],
)
def test_what_is_no_key_is_refused(guarded: TestClient, ring: KeyRing, value: str) -> None:
    sent = value.replace("KEY", ring.keys["boss"]).encode("latin-1")
    answer = guarded.post("/encode", json=TEXT, headers={b"authorization": sent})
    body = assert_problem(answer, "unauthorized")
    assert ring.keys["boss"] not in str(body)


def test_scheme_is_read_in_any_case_and_with_spaces(guarded: TestClient, ring: KeyRing) -> None:
    for scheme in ("bearer ", "BEARER  "):
        headers = {"authorization": scheme + ring.keys["reader"]}
        assert guarded.post("/count", json=TEXT, headers=headers).status_code == 200


def test_header_that_comes_twice_is_refused(guarded: TestClient, ring: KeyRing) -> None:
    good = f"Bearer {ring.keys['reader']}"
    for headers in [
        [("authorization", good), ("authorization", good)],
        [("x-api-key", ring.keys["reader"]), ("x-api-key", "b")],
    ]:
        assert_problem(guarded.post("/encode", json=TEXT, headers=headers), "unauthorized")


def test_gateway_s_own_scheme_leaves_room_for_the_other_header(guarded: TestClient, ring: KeyRing) -> None:
    headers = {"authorization": "Basic YTpi", "x-api-key": ring.keys["reader"]}
    assert guarded.post("/encode", json=TEXT, headers=headers).status_code == 200
    wrong = {"authorization": f"Bearer {new_key()}", "x-api-key": ring.keys["reader"]}
    assert guarded.post("/encode", json=TEXT, headers=wrong).status_code == 401


def test_hash_of_a_key_is_no_key(guarded: TestClient, ring: KeyRing) -> None:
    for line in ring.path.read_text().splitlines():
        if line.startswith("hash"):
            hashed = line.split('"')[1]
            for sent in (hashed, hashed.removeprefix("sha256:")):
                answer = guarded.post("/encode", json=TEXT, headers={"authorization": f"Bearer {sent}"})
                assert answer.status_code == 401


def test_keys_are_never_in_the_log_the_metrics_or_an_answer(
    guarded: TestClient, ring: KeyRing, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ring.keys:
        guarded.post("/encode", json=TEXT, headers=ring.bearer(name))
    said = caplog.text + guarded.get("/metrics").text + guarded.get("/docs").text
    assert all(key not in said for key in ring.keys.values())
    assert "tokd_keys 3.0" in said


def test_openapi_says_where_a_key_is_needed(guarded: TestClient, client: TestClient) -> None:
    document = guarded.get("/openapi.json").json()
    assert document["components"]["securitySchemes"] == {"key": {"type": "http", "scheme": "bearer"}}
    assert document["paths"]["/encode"]["post"]["security"] == [{"key": []}]
    assert document["paths"]["/healthz"]["get"]["security"] == []
    assert "id=key" in guarded.get("/docs").text
    assert "securitySchemes" not in client.get("/openapi.json").json()["components"]
    assert "id=key" not in client.get("/docs").text


def test_keys_change_without_a_restart(guarded: TestClient, ring: KeyRing) -> None:
    old = ring.bearer("reader")
    assert guarded.post("/encode", json=TEXT, headers=old).status_code == 200
    ring.write(reader=["encode"])
    assert guarded.post("/encode", json=TEXT, headers=ring.bearer("reader")).status_code == 200
    assert guarded.post("/encode", json=TEXT, headers=old).status_code == 401
    ring.replace(entry("reader", ["train"], ring.keys["reader"]))
    assert guarded.post("/encode", json=TEXT, headers=ring.bearer("reader")).status_code == 403


def test_change_that_leaves_size_and_time_is_seen_while_the_file_is_young(guarded: TestClient, ring: KeyRing) -> None:
    # A busy machine takes longer than a file is young, so it is still to be written.
    young = time.time_ns() + 10**11
    os.utime(ring.path, ns=(young, young))
    old = ring.bearer("reader")
    assert guarded.post("/encode", json=TEXT, headers=old).status_code == 200
    text = ring.path.read_text()
    changed = text.replace(text.split('hash = "')[1][:71], "sha256:" + "0" * 64)
    assert len(changed) == len(text)
    ring.path.write_text(changed)
    os.utime(ring.path, ns=(young, young))
    assert guarded.post("/encode", json=TEXT, headers=old).status_code == 401


@pytest.mark.parametrize("broken", ["", "[[key]]", "[[key]]\nname = 'a", None, "directory"])
def test_broken_file_keeps_the_keys_from_before_and_is_complained_about_once(
    guarded: TestClient, ring: KeyRing, caplog: pytest.LogCaptureFixture, broken: str | None
) -> None:
    headers, text = ring.bearer("reader"), ring.path.read_text()
    if broken is None or broken == "directory":
        ring.path.unlink()
        if broken is not None:
            ring.path.mkdir()
    else:
        ring.replace(broken)
    for _ in range(3):
        assert guarded.post("/encode", json=TEXT, headers=headers).status_code == 200
        assert guarded.post("/encode", json=TEXT).status_code == 401
    assert caplog.text.count("stay in force") == 1
    assert "tokd_keys_broken 1.0" in guarded.get("/metrics").text
    if broken == "directory":
        ring.path.rmdir()
    ring.replace(text)
    assert guarded.post("/encode", json=TEXT, headers=headers).status_code == 200
    page = guarded.get("/metrics").text
    assert "tokd_keys_broken 0.0" in page
    assert "tokd_keys 3.0" in page


def test_metrics_tell_of_a_broken_file_before_anybody_comes_with_a_key(
    make_client: MakeClient, ring: KeyRing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.app.GAUGE_SECONDS", 0.01)
    text = ring.path.read_text()
    with make_client(keys=str(ring.path)) as client:
        ring.replace("broken")
        until(lambda: "tokd_keys_broken 1.0" in client.get("/metrics").text)
        ring.replace(text)
        until(lambda: "tokd_keys_broken 0.0" in client.get("/metrics").text)


def test_quiet_file_is_read_once(ring: KeyRing, monkeypatch: pytest.MonkeyPatch) -> None:
    hour_ago = time.time() - 3600
    os.utime(ring.path, (hour_ago, hour_ago))
    parsed: list[int] = []

    def counted(data: bytes) -> Any:
        parsed.append(len(data))
        return parse(data)

    parse = guard.parse
    monkeypatch.setattr(guard, "parse", counted)
    opened: list[tuple[int, bool]] = []
    watched = Guard(str(ring.path), lambda *noted: opened.append(noted))
    headers = [(b"authorization", f"Bearer {ring.keys['reader']}".encode())]
    for _ in range(50):
        assert watched.require(NEEDS["/encode"], headers).name == "reader"
    assert (len(parsed), opened) == (1, [(3, False)])
    os.utime(ring.path, (hour_ago + 1, hour_ago + 1))
    assert watched.require(NEEDS["/encode"], headers).name == "reader"
    assert (len(parsed), opened) == (1, [(3, False)])


def test_unknown_keys_are_not_remembered(ring: KeyRing) -> None:
    watched = Guard(str(ring.path), lambda *_: None)
    for _ in range(1000):
        with pytest.raises(ServiceError):
            watched.require(NEEDS["/encode"], [(b"x-api-key", new_key().encode())])
    assert watched._known == {}


@pytest.mark.parametrize("content", [None, b"", b"\xff", b"[[key]]"])
def test_server_does_not_start_on_a_broken_file(make_client: MakeClient, tmp_path: Any, content: bytes | None) -> None:
    path = tmp_path / "keys.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidSetting, match=r"keys\.toml"):
        make_client(keys=str(path))
