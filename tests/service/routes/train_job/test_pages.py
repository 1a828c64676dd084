"""Pages in a browser submit jobs only from where they may."""

from __future__ import annotations

from typing import Any

import pytest

from tests.service.problems import assert_problem
from tests.service.routes.train_job.conftest import CORPUS, Board, MakeBoard, post, refused, settings_part


def test_page_of_another_site_cannot_submit_through_a_browser(board: Board) -> None:
    parts = [("corpus", "a.txt", CORPUS), settings_part()]
    for origin in (
        "https://evil.example",
        "null",
        "http://localhost.evil.example",
        "http://localhost:8001",
        "http://[",
    ):
        refused(board, post(board, *parts, origin=origin, host="localhost"), "page_not_allowed", "header origin")
    assert post(board, *parts, origin="http://localhost", host="localhost").status_code == 202


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("settings", [{}, {"no_auth": True}])
def test_page_of_another_site_that_hides_its_origin_cannot_change_jobs(
    make_board: MakeBoard, settings: dict[str, Any], site: str
) -> None:
    board = make_board(**settings)
    parts, hidden = [("corpus", "a.txt", CORPUS), settings_part()], {"sec-fetch-site": site}
    refused(board, post(board, *parts, **hidden), "page_not_allowed", "header sec-fetch-site")
    job = post(board, *parts, **{"sec-fetch-site": "same-origin"}).headers["location"]
    assert_problem(board.client.delete(job, headers=hidden), "page_not_allowed", "header sec-fetch-site")
    assert board.client.delete(job, headers={"sec-fetch-site": "none"}).status_code == 200


REBOUND = {"host": "evil.example:8000", "origin": "http://evil.example:8000"}


def test_page_whose_name_leads_here_cannot_change_jobs(board: Board) -> None:
    parts = [("corpus", "a.txt", CORPUS), settings_part()]
    refused(board, post(board, *parts, **REBOUND), "host_not_allowed", "header host")
    body = {"corpus": {"texts": ["low lower"]}, "settings": {"vocab_size": 258}}
    refused(board, board.client.post("/train-job", json=body, headers=REBOUND), "host_not_allowed", "header host")
    job = board.client.post("/train-job", json=body).headers["location"]
    assert_problem(board.client.delete(job, headers=REBOUND), "host_not_allowed", "header host")
    assert board.client.get(job).json()["state"] == "queued"
    for host in ("localhost:8000", "tokd.localhost", "127.0.0.2:8000", "[::1]:8000"):
        own = {"host": host, "origin": f"http://{host}"}
        assert post(board, *parts, **own).status_code == 202
        assert board.client.delete(job, headers=own).status_code == 200


@pytest.mark.parametrize("settings", [{"no_auth": True, "allowed_hosts": ("evil.example",)}, {"uds": "socket"}])
def test_page_behind_a_proxy_submits_where_everybody_may(make_board: MakeBoard, settings: dict[str, Any]) -> None:
    board = make_board(**settings)
    assert post(board, ("corpus", "a.txt", CORPUS), settings_part(), **REBOUND).status_code == 202
