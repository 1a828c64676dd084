"""Behind a proxy that shows the server below a path, every path in an answer begins with that path."""

from __future__ import annotations

import re
import socket

import httpx
import pytest

from service.setting_values import InvalidSetting
from service.settings import Settings
from tests.service.conftest import RunServer
from tests.service.routes.train_job.conftest import BODY, Board, MakeBoard
from tests.service.routes.train_job.test_jobs import succeeded

ROOT = "/a/tokd"


@pytest.fixture
def shown(make_board: MakeBoard) -> Board:
    return make_board(root_path=ROOT)


def test_links_of_jobs_begin_with_the_root_path(shown: Board) -> None:
    location = shown.client.post("/train-job", json=BODY).headers["location"]
    assert re.fullmatch(rf"{ROOT}/train-job/[0-9a-f]{{32}}", location)
    assert shown.client.delete(location.removeprefix(ROOT)).status_code == 200
    job = succeeded(shown)
    href = f"{ROOT}/train-job/{job}/artifact"
    assert shown.client.get(f"/train-job/{job}").json()["artifact"]["href"] == href
    assert shown.client.get("/train-job?state=succeeded").json()["jobs"][0]["artifact"]["href"] == href
    with shown.client.stream("GET", f"/train-job/{job}/events") as events:
        assert href in "".join(events.iter_text())


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/encode", {}),
        ("POST", "/encode", {"text": 1}),
        ("GET", "/nowhere", None),
        ("PUT", "/encode", None),
        ("GET", "/train-job?x=1", None),
        ("GET", "/train-job/x", None),
        ("POST", "/train-job", {}),
    ],
)
def test_types_of_problems_begin_with_the_root_path(shown: Board, method: str, path: str, body: object) -> None:
    problem = shown.client.request(method, path, json=body).json()
    assert problem["type"] == f"{ROOT}/docs#{problem['code']}"


def test_what_is_refused_before_it_is_a_request_begins_with_the_root_path_too(run_server: RunServer) -> None:
    with run_server(root_path=ROOT) as server:
        url = httpx.URL(server.url)
        with socket.create_connection((url.host, url.port or 0), timeout=30) as connection:
            connection.sendall(b"no HTTP\r\n\r\n")
            answer = connection.makefile("rb").read()
        assert f'"type":"{ROOT}/docs#invalid_http"'.encode() in answer


def test_the_openapi_document_names_the_root_path_and_the_page_needs_none(shown: Board) -> None:
    assert shown.client.get("/openapi.json").json()["servers"] == [{"url": ROOT}]
    assert "data-path='/" not in shown.client.get("/docs").text


@pytest.mark.parametrize("path", ["tokd", "/", "/tokd/", "//tokd", "/a b", "https://example.com/tokd", "/tokd?x"])
def test_what_is_no_path_is_no_root_path(path: str) -> None:
    with pytest.raises(InvalidSetting, match="root_path is"):
        Settings(root_path=path)
