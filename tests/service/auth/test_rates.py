"""Keys with limits: never more than a second's worth at once and the rate after that, on every way to an answer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from service.auth.keys import InvalidKeys, entry, new_key, parse
from service.auth.rates import Meter, Rates
from service.cli import main
from service.client import Client, Saturated
from service.errors import ServiceError
from tests.service.conftest import MakeClient, RunServer
from tests.service.problems import assert_problem


class Clock:
    """A clock that stands until it is moved."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@given(
    rate=st.floats(0.1, 50),
    processes=st.integers(1, 4),
    waits=st.lists(st.floats(0, 3), min_size=1, max_size=80),
)
def test_no_more_than_the_rate_and_one_second_at_once_is_admitted(
    rate: float, processes: int, waits: list[float]
) -> None:
    clock = Clock()
    meter, admitted = Meter(Rates(requests=rate), processes, clock), 0
    for wait in waits:
        clock.now += wait
        with suppress(ServiceError):
            meter.admit()
            admitted += 1
    share = rate / processes
    assert admitted <= max(share, 1) + share * clock.now + 1e-6
    assert admitted >= min(len(waits), int(max(share, 1)))


def test_who_waits_as_long_as_told_is_admitted() -> None:
    clock = Clock()
    meter = Meter(Rates(requests=0.25, tokens=10), 1, clock)
    meter.admit()
    meter.spend(200)
    with pytest.raises(ServiceError) as caught:
        meter.admit()
    clock.now += int(dict(caught.value.headers)[b"retry-after"])
    with pytest.raises(ServiceError, match="no tokens left") as caught:
        meter.admit()
    clock.now += int(dict(caught.value.headers)[b"retry-after"])
    meter.admit()


def test_a_debt_of_tokens_is_paid_by_time_and_says_so() -> None:
    clock = Clock()
    meter = Meter(Rates(tokens=100), 1, clock)
    meter.admit()
    meter.spend(350)
    assert not meter.has_room()
    assert dict(meter.headers()) == {
        b"x-ratelimit-limit-tokens": b"100",
        b"x-ratelimit-remaining-tokens": b"0",
        b"x-ratelimit-reset-tokens": b"3.500s",
    }
    clock.now += 2.6
    assert meter.has_room()


KEY, OTHER = new_key(), new_key()


@pytest.fixture
def keys(tmp_path: Path) -> Callable[[Rates], str]:
    """Write a file with a key that has limits and one that has none."""

    def write(rates: Rates) -> str:
        path = tmp_path / "keys.toml"
        path.write_text(entry("trial", ["encode"], KEY, rates) + entry("gateway", ["encode"], OTHER))
        return str(path)

    return write


def asking(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


@pytest.mark.parametrize("route", ["/encode", "/tokenize", "/pack", "/tokenizers"])
def test_a_key_is_refused_beyond_its_requests_on_every_route(make_client: MakeClient, keys: Any, route: str) -> None:
    client = make_client(keys=keys(Rates(requests=3)))
    body: dict[str, Any] = {"examples": [], "length": 8} if route == "/pack" else {"text": "a", "prompt": "a"}
    body = {"prompt": "a"} if route == "/tokenize" else {"text": "a"} if route == "/encode" else body

    def ask(key: str) -> httpx.Response:
        headers = asking(key)
        return (
            client.get(route, headers=headers)
            if route == "/tokenizers"
            else client.post(route, json=body, headers=headers)
        )

    assert [ask(KEY).status_code for _ in range(3)] == [200] * 3
    refused = ask(KEY)
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) >= 1
    assert ask(OTHER).status_code == 200


def test_answers_say_what_is_left(make_client: MakeClient, keys: Any) -> None:
    client: TestClient = make_client(keys=keys(Rates(requests=1000, tokens=1000)))
    for text in ("the quick brown fox", ["a", "b"]):
        answer = client.post("/encode", json={"text": text, "return": ["ids", "tokens"]}, headers=asking(KEY))
        assert answer.headers["x-ratelimit-limit-requests"] == "1000"
        assert int(answer.headers["x-ratelimit-remaining-tokens"]) <= 1000
    assert "x-ratelimit-limit-requests" not in client.post("/encode", json={"text": "a"}, headers=asking(OTHER)).headers


def test_tokens_are_counted_however_the_answer_was_made(run_server: RunServer, keys: Any) -> None:
    with run_server(keys=keys(Rates(tokens=1)), access_log=False) as server:
        for body in ({"text": "the quick brown fox " * 50}, {"text": "the fox " * 50, "return": ["ids", "tokens"]}):
            with httpx.Client(base_url=server.url, headers=asking(KEY)) as client:
                answers = [client.post("/encode", json=body) for _ in range(2)]
                assert_problem(answers[-1], "rate_limited")
                assert answers[-1].headers["x-ratelimit-remaining-tokens"] == "0"


def test_the_fast_path_names_what_is_left_and_refuses_beyond_it(run_server: RunServer, keys: Any) -> None:
    with run_server(keys=keys(Rates(requests=2)), access_log=False) as server:
        with httpx.Client(base_url=server.url, headers=asking(KEY)) as client:
            first, second, third = (client.post("/encode", json={"text": "a"}) for _ in range(3))
        assert (first.status_code, second.status_code) == (200, 200)
        assert first.headers["x-ratelimit-limit-requests"] == "2"
        assert first.headers["x-ratelimit-remaining-requests"] in "01"
        assert_problem(third, "rate_limited")


def test_the_client_waits_and_asks_again(run_server: RunServer, keys: Any) -> None:
    with run_server(keys=keys(Rates(requests=1)), access_log=False) as server:
        with Client(server.url, key=KEY, tries=5) as client:
            assert [client.count("a").count for _ in range(2)] == [client.count("a").count] * 2
        with Client(server.url, key=KEY, tries=1) as client, pytest.raises(Saturated) as caught:
            [client.count("a") for _ in range(5)]
        assert caught.value.code == "rate_limited"


def test_limits_stay_spent_when_the_file_changes_elsewhere(make_client: MakeClient, keys: Any) -> None:
    path = Path(keys(Rates(requests=1)))
    client = make_client(keys=str(path))
    assert client.post("/encode", json={"text": "a"}, headers=asking(KEY)).status_code == 200
    path.write_text(path.read_text() + entry("third", ["train"], new_key()))
    assert client.post("/encode", json={"text": "a"}, headers=asking(KEY)).status_code == 429


@pytest.mark.parametrize("value", ["0", "-1", '"5"', "true", "nan", "inf", "1e13"])
def test_a_limit_is_a_number_above_0(value: str) -> None:
    data = entry("a", ["encode"], KEY) + f"requests_per_second = {value}\n"
    with pytest.raises(InvalidKeys, match=r"key\[0\]\.requests_per_second"):
        parse(data.encode())


def test_entries_of_one_name_have_one_limit() -> None:
    data = entry("a", ["encode"], KEY, Rates(requests=1)) + entry("a", ["encode"], OTHER)
    with pytest.raises(InvalidKeys, match=r"key\[1\] has other limits"):
        parse(data.encode())


def test_the_command_writes_limits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "keys.toml")
    given = ["--requests-per-second", "2.5", "--tokens-per-second", "1000"]
    assert main(["key", "new", "--name", "a", "--scope", "encode", "--file", file, *given]) == 0
    assert parse(Path(file).read_bytes()).rates == {"a": Rates(2.5, 1000)}
    for wrong in ("0", "-1", "x", "1e3"):
        assert main(["key", "new", "--name", "a", "--scope", "encode", "--requests-per-second", wrong]) == 2
    capsys.readouterr()
