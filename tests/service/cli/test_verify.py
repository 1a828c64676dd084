"""``tokd verify`` finds every way in which engines are known to read an input otherwise, and nothing in a right one."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.cli import main
from service.cli.verify_cases import cases
from service.cli.verify_shrink import smallest
from tests.service.conftest import MakeClient
from tests.service.routes.compat.counting import TEMPLATE
from tokenizer_core import Tokenizer

Change = Callable[[dict[str, Any]], dict[str, Any]]


def same(body: dict[str, Any]) -> dict[str, Any]:
    return body


@contextmanager
def engine(client: TestClient, request: Change = same, answer: Change = same, status: int = 0) -> Iterator[str]:
    """Serve what the client answers, as an engine that changes requests before it reads them, or its answers."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            found = client.post(self.path, json=request(body))
            code, content = status or found.status_code, found.json()
            data = json.dumps(answer(content) if found.status_code == 200 else content).encode()
            self.send_response(code)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def path(framed: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("verify") / "acme"
    framed.with_template(TEMPLATE).save(place)
    return place


@pytest.fixture(scope="module")
def client(make_client: MakeClient, path: Path) -> TestClient:
    return make_client(artifacts=(str(path),))


def verified(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    status = main(["verify", "--json", *arguments])
    return status, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("route", ["tokenize", "render"])
def test_a_right_engine_has_no_difference(
    client: TestClient, path: Path, capsys: pytest.CaptureFixture[str], route: str
) -> None:
    with engine(client) as url:
        status, report = verified(capsys, "-t", str(path), "--engine", url, "--route", route)
    assert (status, report["cases"], report["differences"]) == (0, len(cases()), [])
    assert report["cases"] >= 200
    assert main(["verify", "-t", str(path), "--engine", "http://127.0.0.1:9"]) == 1
    assert "engine_unreachable" in capsys.readouterr().err


def needing_flags(body: dict[str, Any]) -> dict[str, Any]:
    """vLLM refuses the default choice of tools without ``--enable-auto-tool-choice``."""
    return {} if "tools" in body and body.get("tool_choice") != "none" else body


def test_no_flag_of_the_engine_is_needed(client: TestClient, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with engine(client, needing_flags) as url:
        status, report = verified(capsys, "-t", str(path), "--engine", url, "--route", "render")
    assert (status, report["differences"]) == (0, [])


def doubled(answer: dict[str, Any]) -> dict[str, Any]:
    return {**answer, "tokens": [answer["tokens"][0], *answer["tokens"]]}


def sorted_keys(body: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(body, sort_keys=True))
    return found


def without(name: str) -> Change:
    return lambda body: {key: value for key, value in body.items() if key != name}


def stripped(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "prompt": body["prompt"].strip() or "x"} if "prompt" in body else body


WRONG: dict[str, tuple[dict[str, Any], Callable[[str], bool]]] = {
    "the first token twice": ({"answer": doubled}, lambda name: True),
    "keys sorted": ({"request": sorted_keys}, lambda name: "tool" in name or "keys" in name),
    "tools dropped": ({"request": without("tools")}, lambda name: "tool" in name or "keys" in name),
    "variables dropped": (
        {"request": without("chat_template_kwargs")},
        lambda name: "thinking" in name or "effort" in name,
    ),
    "texts stripped": ({"request": stripped}, lambda name: "text " in name),
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_engine_is_found_out_with_a_small_input(
    client: TestClient, path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    changes, expected = WRONG[name]
    with engine(client, **changes) as url:
        status, report = verified(capsys, "-t", str(path), "--engine", url)
    assert status == 1
    assert report["differences"]
    for one in report["differences"]:
        assert expected(one["case"]), one["case"]
        assert one["artifact"] != one["engine"]
    sizes = {case.name: len(json.dumps(case.body)) for case in cases()}
    first = report["differences"][0]
    assert len(json.dumps(first["input"])) <= sizes[first["case"]]


def test_another_template_is_a_difference_of_chats_alone(
    make_client: MakeClient, framed: Tokenizer, path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    framed.with_template(TEMPLATE + " ").save(tmp_path / "other")
    with engine(make_client(artifacts=(str(tmp_path / "other"),))) as url:
        assert main(["verify", "-t", str(path), "--engine", url]) == 1
        printed = capsys.readouterr()
        _, report = verified(capsys, "-t", str(path), "--engine", url)
    chats = [case for case in cases() if "messages" in case.body]
    # Where the last message goes on, what the template has behind it is cut.
    chats = [case for case in chats if not case.body.get("continue_final_message")]
    assert [one["case"] for one in report["differences"]] == [case.name for case in chats]
    assert printed.out.startswith("chat: one turn: {")
    assert f"{len(cases()) - len(chats)} of {len(cases())} inputs have the ids of" in printed.out
    assert "--json lists them" in printed.err


@pytest.mark.parametrize(("status", "answer"), [(500, same), (404, same), (200, lambda _: {"tokens": "no"})])
def test_what_is_no_engine_is_an_error(
    client: TestClient, path: Path, capsys: pytest.CaptureFixture[str], status: int, answer: Change
) -> None:
    with engine(client, answer=answer, status=status) as url:
        assert main(["verify", "-t", str(path), "--engine", url]) == 1
    assert "tokd: error: engine_failed: " in capsys.readouterr().err


def test_the_engines_message_is_printed_whole(
    client: TestClient, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with engine(client) as url:
        assert main(["verify", "-t", str(path), "--engine", url, "--model", "m" * 90]) == 1
        said = client.post("/tokenize", json={"model": "m" * 90, "prompt": "x"}).json()["error"]["message"]
    ways = "check --engine, --model, --key or --route"
    assert capsys.readouterr().err == f"tokd: error: engine_failed: {url} answered 404 on /tokenize: {said}; {ways}\n"


@pytest.mark.parametrize("address", ["127.0.0.1:8199", "localhost", "http://", "ftp://127.0.0.1", "http://a:b", ""])
def test_an_address_that_cannot_be_is_named(address: str, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "-t", str(path), "--engine", address]) == 2
    wrong = f"--engine is {address!r}; it begins with http:// or https:// and a host"
    assert capsys.readouterr().err == f"tokd: error: usage: {wrong}\n"


def test_the_smallest_input_is_found() -> None:
    assert smallest({"prompt": "a" * 100 + "b" + "c" * 99}, lambda body: "b" in body["prompt"]) == {"prompt": "b"}
    chat = {"messages": [{"role": "user", "content": "x"}] * 3, "tools": [1, 2, 3], "add_generation_prompt": True}
    found = smallest(chat, lambda body: 2 in body.get("tools", ()))
    assert found == {"messages": chat["messages"][:1], "tools": [2]} or len(found["messages"]) == 1
