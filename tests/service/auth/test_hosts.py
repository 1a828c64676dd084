"""A page whose name was made to lead here reads nothing: only names that are the server's own are answered."""

from __future__ import annotations

import socket
from typing import Any

import httpx
import pytest
from starlette.routing import Route

from service.auth.route_scopes import ANY_HOST
from service.setting_values import InvalidSetting
from tests.service.auth.conftest import KeyRing
from tests.service.conftest import MakeClient, RunServer, app_of
from tests.service.problems import assert_problem

FOREIGN = (
    "evil.example",
    "evil.example:8000",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "evillocalhost",
    "127.0.0.1@evil.example",
    "tokd",
    "[::1].evil.example",
    "0x7f.1",
)
OWN = (
    "localhost",
    "LOCALHOST:80",
    "localhost.",
    "tokd.localhost:8000",
    "127.0.0.1:8000",
    "10.1.2.3",
    "[::1]:8000",
    "[2001:db8::1]",
    socket.gethostname(),
)


@pytest.mark.parametrize("settings", [{}, {"no_auth": True}])
def test_no_route_but_health_answers_to_a_name_of_others(make_client: MakeClient, settings: dict[str, Any]) -> None:
    client, asked = make_client(**settings), 0
    for route in app_of(client).routes:
        assert isinstance(route, Route)
        for method in route.methods or ():
            path = route.path.replace("{", "").replace("}", "")
            answer = client.request(method, path, headers={"host": "evil.example:8000"})
            assert (answer.status_code == 421) is (route.path not in ANY_HOST), (method, route.path)
            assert answer.is_success is (route.path in ANY_HOST), (method, route.path)
            asked += 1
    assert asked > 20


@pytest.mark.parametrize("host", FOREIGN)
def test_a_name_of_others_is_refused_with_the_way_out(make_client: MakeClient, host: str) -> None:
    answer = make_client().get("/tokenizers", headers={"host": host})
    assert_problem(answer, "host_not_allowed", "header host")
    assert "--allowed-host" in answer.json()["detail"]


@pytest.mark.parametrize("host", OWN)
def test_own_names_and_addresses_are_answered(make_client: MakeClient, host: str) -> None:
    assert make_client().get("/tokenizers", headers={"host": host}).status_code == 200


def test_listed_names_and_those_below_a_dot_are_answered(make_client: MakeClient) -> None:
    client = make_client(allowed_hosts=("Tokd", ".example.com"), no_auth=True)
    expected = {"tokd:8000": 200, "a.b.example.com": 200, "example.com": 421, "evilexample.com": 421, "other": 421}
    assert {host: client.get("/docs", headers={"host": host}).status_code for host in expected} == expected
    assert make_client(allowed_hosts=("*",)).get("/docs", headers={"host": "evil.example"}).status_code == 200


def test_where_a_key_is_needed_any_name_is_answered_unless_names_are_listed(
    make_client: MakeClient, ring: KeyRing
) -> None:
    headers = {"host": "tokd.example", **ring.bearer("reader")}
    assert make_client(keys=str(ring.path)).get("/tokenizers", headers=headers).status_code == 200
    listed = make_client(keys=str(ring.path), allowed_hosts=("other.example",))
    assert_problem(listed.get("/tokenizers", headers=headers), "host_not_allowed", "header host")


@pytest.mark.parametrize("name", ["http://tokd", "tokd:8000", "a b", "*.example.com", "."])
def test_what_is_no_name_is_no_allowed_host(make_client: MakeClient, name: str) -> None:
    with pytest.raises(InvalidSetting, match="allowed_hosts has"):
        make_client(allowed_hosts=("tokd", name))


def raw(host: str, body: bytes = b'{"text":"a"}') -> bytes:
    head = f"POST /encode HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
    return head.encode() + b"\r\n\r\n" + body


def test_the_fast_path_has_no_way_round(run_server: RunServer) -> None:
    with run_server() as server:
        url = httpx.URL(server.url)
        with socket.create_connection((url.host, url.port or 0), timeout=30) as connection:
            answers = connection.makefile("rb")
            # On one connection: a name that was answered before does not stand for the next one.
            for host, status in (("localhost", 200), ("evil.example", 421)):
                connection.sendall(raw(host))
                assert int(answers.readline().split()[1]) == status
                length = 0
                while (line := answers.readline()) != b"\r\n":
                    name, _, value = line.partition(b":")
                    length = int(value) if name == b"content-length" else length
                answers.read(length)
        answer = server.client.post("/count", json={"text": "a"}, headers={"host": "evil.example"})
        assert_problem(answer, "host_not_allowed", "header host")
