"""The caller in the log is the other end of the connection, or whom a trusted proxy names, and nobody else."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from service.http.client_address import MAX_FORWARDED, ClientAddresses
from service.setting_values import InvalidSetting
from tests.service.conftest import RunServer

PROXY = ("10.0.0.1", 4711)


def forwarded(*values: str) -> list[tuple[bytes, bytes]]:
    return [(b"x-forwarded-for", value.encode()) for value in values]


@pytest.mark.parametrize(
    ("trusted", "peer", "said", "address"),
    [
        ((), PROXY, ["1.2.3.4"], "10.0.0.1"),
        (("10.0.0.0/8",), PROXY, [], "10.0.0.1"),
        (("10.0.0.0/8",), PROXY, ["1.2.3.4"], "1.2.3.4"),
        (("10.0.0.0/8",), ("11.0.0.1", 1), ["1.2.3.4"], "11.0.0.1"),
        (("10.0.0.0/8",), PROXY, ["6.6.6.6, 1.2.3.4, 10.1.1.1"], "1.2.3.4"),
        (("10.0.0.0/8",), PROXY, ["6.6.6.6", "1.2.3.4:80"], "1.2.3.4"),
        (("10.0.0.0/8",), PROXY, ["10.2.2.2, 10.3.3.3"], "10.2.2.2"),
        (("10.0.0.0/8",), PROXY, ["1.2.3.4, evil"], "10.0.0.1"),
        (("10.0.0.0/8",), PROXY, ["evil\n, 1.2.3.4"], "1.2.3.4"),
        (("10.0.0.0/8",), PROXY, ["[2001:db8::1]:443"], "2001:db8::1"),
        (("::1",), ("::1", 1), ["2001:db8::1"], "2001:db8::1"),
        (("10.0.0.0/8",), ("::ffff:10.0.0.1", 1), ["1.2.3.4"], "1.2.3.4"),
        (("unix",), None, ["1.2.3.4"], "1.2.3.4"),
        (("10.0.0.0/8",), None, ["1.2.3.4"], ""),
        (("10.0.0.0/8",), PROXY, ["9" * 5000 + ", 1.2.3.4"], "1.2.3.4"),
        (("10.0.0.0/8",), PROXY, ["1.1.1.1," + " " * MAX_FORWARDED], "10.0.0.1"),
    ],
)
def test_only_trusted_proxies_name_the_caller(
    trusted: tuple[str, ...], peer: tuple[str, int] | None, said: list[str], address: str
) -> None:
    assert ClientAddresses(trusted).of(peer, forwarded(*said)) == address


@pytest.mark.parametrize("proxy", ["", "proxy", "10.0.0.0/99", "10.0.0.1/8", "UNIX"])
def test_what_is_no_address_is_refused(proxy: str) -> None:
    with pytest.raises(InvalidSetting, match="trusted_proxies"):
        ClientAddresses((proxy,))


def test_the_log_names_the_caller_on_every_way_to_an_answer(run_server: RunServer) -> None:
    with run_server(trusted_proxies=("127.0.0.1",)) as server:
        headers = {"x-forwarded-for": "6.6.6.6, 1.2.3.4"}
        with httpx.Client(base_url=server.url, headers=headers) as client:
            client.post("/encode", json={"text": "a"})
            client.post("/encode", json={"text": "a", "return": ["tokens"]})
            client.get("/tokenizers")
            client.post("/encode", json={"texts": "a"})
        lines = [json.loads(line) for line in server.stop()[0].splitlines()]
    # The first ask was whether the server is there.
    assert [line["client"] for line in lines[-4:]] == ["1.2.3.4"] * 4


def test_a_unix_socket_has_no_address(run_server: RunServer, tmp_path: Path) -> None:
    with run_server(uds=str(tmp_path / "tokd.sock")) as server:
        server.client.post("/encode", json={"text": "a"})
        lines = [json.loads(line) for line in server.stop()[0].splitlines()]
    assert {line["client"] for line in lines} == {""}
