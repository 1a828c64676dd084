"""Pages of listed sites may read answers in a browser; without a list the server says nothing about sites."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from service.app import create_app
from service.setting_values import InvalidSetting
from service.settings import Settings
from tests.service.conftest import MakeClient, RunServer
from tests.service.problems import assert_problem

SITE = "https://app.example.com"
ASKED = {"origin": SITE, "access-control-request-method": "POST", "access-control-request-headers": "authorization"}


def test_without_the_setting_no_answer_speaks_of_sites(make_client: MakeClient) -> None:
    client = make_client()
    answer = client.post("/encode", json={"text": "a"}, headers={"origin": SITE})
    assert not [name for name in answer.headers if name.startswith("access-control")]
    assert client.options("/encode", headers=ASKED).status_code == 405


def test_a_listed_site_may_ask_first_and_reads_answers_and_errors(make_client: MakeClient, tmp_path: Path) -> None:
    client = make_client(cors_origins=(SITE,))
    first = client.options("/encode", headers=ASKED)
    assert first.status_code == 200
    assert first.headers["access-control-allow-origin"] == SITE
    assert "authorization" in first.headers["access-control-allow-headers"].lower()
    for body, status in (({"text": "a"}, 200), ({"texts": "a"}, 422)):
        answer = client.post("/encode", json=body, headers={"origin": SITE})
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (status, SITE)
    assert 'tokd_requests_total{code="",route="unmatched",status="200"} 1.0' in client.get("/metrics").text
    assert client.get("/tokenizers", headers={"origin": SITE}).headers["access-control-allow-origin"] == SITE


def test_another_site_reads_nothing(make_client: MakeClient) -> None:
    client = make_client(cors_origins=(SITE,))
    assert client.options("/encode", headers={**ASKED, "origin": "https://evil.example"}).status_code == 400
    answer = client.post("/encode", json={"text": "a"}, headers={"origin": "https://evil.example"})
    assert "access-control-allow-origin" not in answer.headers


def test_a_listed_site_may_change_jobs_and_any_site_may_not(make_client: MakeClient) -> None:
    job = {"settings": {"vocab_size": 256}}
    for origins, allowed in (((SITE,), True), (("*",), False)):
        client = make_client(cors_origins=origins)
        answer = client.post("/train-job", json=job, headers={"origin": SITE})
        if allowed:
            assert answer.json()["code"] != "page_not_allowed"
        else:
            assert_problem(answer, "page_not_allowed", "header origin")


def test_a_real_server_answers_a_site_on_the_connection_that_others_use(run_server: RunServer) -> None:
    with run_server(cors_origins=("*",)) as server, httpx.Client(base_url=server.url) as client:
        for origin, allowed in ((None, None), (SITE, "*"), (None, None)):
            answer = client.post("/encode", json={"text": "a"}, headers={"origin": origin} if origin else {})
            assert answer.status_code == 200
            assert answer.headers.get("access-control-allow-origin") == allowed


@pytest.mark.parametrize(
    "origin", ["app.example.com", "https://app.example.com/", "https://", "", "https://a b", "null"]
)
def test_what_is_no_origin_is_refused_at_the_start(artifacts: Any, origin: str) -> None:
    with pytest.raises(InvalidSetting, match="cors_origins"):
        create_app(Settings(artifacts=artifacts, cors_origins=(origin,), access_log=False))
