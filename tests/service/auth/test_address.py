"""A server that others can reach does not start without keys, and with them it answers only to them."""

from __future__ import annotations

import time

import httpx
import pytest

from service.auth.address import is_loopback, require_keys
from service.server import run
from service.setting_values import InvalidSetting
from service.settings import Settings
from tests.service.auth.conftest import KeyRing
from tests.service.conftest import RunServer


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("0", False),
        ("10.0.0.1", False),
        ("192.0.2.1", False),
        ("::ffff:10.0.0.1", False),
        ("a..b", False),
    ],
)
def test_only_loopback_needs_no_keys(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback
    settings = Settings(host=host)
    if loopback:
        require_keys(settings)
    else:
        with pytest.raises(InvalidSetting, match="--no-auth"):
            require_keys(settings)
        require_keys(Settings(host=host, no_auth=True))
        require_keys(Settings(host=host, uds="/tmp/socket"))
        require_keys(Settings(host=host, keys="keys.toml"))


def test_a_name_is_loopback_only_if_all_of_its_addresses_are(monkeypatch: pytest.MonkeyPatch) -> None:
    for addresses, loopback in ((["127.0.0.1", "::1%lo"], True), (["127.0.0.1", "10.0.0.1"], False), ([], False)):
        found = [(0, 0, 0, "", (address, 0)) for address in addresses]
        monkeypatch.setattr("service.auth.address.socket.getaddrinfo", lambda *_, found=found, **__: found)
        assert is_loopback("name") is loopback


def test_server_refuses_to_start_where_others_reach_it(artifacts: tuple[str, str]) -> None:
    with pytest.raises(InvalidSetting, match="tokd key new"):
        run(Settings(artifacts=artifacts, host="0.0.0.0", port=0))


def test_server_that_others_reach_asks_for_a_key(run_server: RunServer, ring: KeyRing) -> None:
    with run_server(host="0.0.0.0", keys=str(ring.path), workers=2) as server:
        for _ in range(8):
            # A connection each, so that both processes get some.
            assert httpx.post(f"{server.url}/encode", json={"text": "a"}).status_code == 401
            good = httpx.post(f"{server.url}/encode", json={"text": "a"}, headers=ring.bearer("reader"))
            assert good.status_code == 200
        old = ring.bearer("reader")
        ring.write(reader=["encode"])
        for _ in range(8):
            assert httpx.post(f"{server.url}/encode", json={"text": "a"}, headers=old).status_code == 401
            good = httpx.post(f"{server.url}/encode", json={"text": "a"}, headers=ring.bearer("reader"))
            assert good.status_code == 200
        # A process reads the file again when it is asked next, which may be one of the two for a while.
        deadline = time.monotonic() + 30
        while "tokd_keys 1.0" not in httpx.get(f"{server.url}/metrics").text:
            assert time.monotonic() < deadline, "one of the processes has the old keys"
            assert httpx.post(f"{server.url}/encode", json={"text": "a"}, headers=old).status_code == 401
        server.stop()


def test_keys_hold_on_loopback_too(run_server: RunServer, ring: KeyRing) -> None:
    with run_server(keys=str(ring.path)) as server:
        assert server.client.post("/encode", json={"text": "a"}).status_code == 401
        # A body that nobody will read, larger than what a connection buffers, still gets its answer.
        big = server.client.post("/encode", content=b" " * (4 << 20), headers={"content-type": "application/json"})
        assert big.status_code == 401
        server.stop()
