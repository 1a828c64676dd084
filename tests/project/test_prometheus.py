"""Prometheus itself, as Debian packages it, reads a real server with the files for operators and runs every query."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import httpx
import pytest
import yaml

from service.settings import Settings
from tests.project.test_deploy import ALERTS, DEPLOY, PANELS, documents
from tests.support.paths import ROOT
from tests.support.server import Server, running, written
from tests.support.waiting import until

PROMETHEUS = shutil.which("prometheus")
PROMTOOL = shutil.which("promtool")
LISTENS = re.compile(rb"Listening on\" address=([0-9.]+:[0-9]+)")


@pytest.fixture(scope="module", params=["tokd", "kubernetes-pods"])
def watched(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Server, httpx.Client]]:
    """Run a server and Prometheus, with the configuration of the compose file but for the address and the pace.

    The job is called as there, and as where pods are discovered by their annotations.
    """
    if PROMETHEUS is None:
        pytest.skip("there is no prometheus; apt-get install prometheus")
    folder = tmp_path_factory.mktemp("prometheus")
    shutil.copy(DEPLOY / "alerts.yaml", folder)
    with running(Settings(artifacts=(str(ROOT / "artifacts" / "base"),), port=0, access_log=False)) as server:
        configuration = documents("prometheus.yaml")[0]
        configuration["global"] |= {"scrape_interval": "200ms", "evaluation_interval": "200ms"}
        configuration["scrape_configs"][0]["job_name"] = request.param
        configuration["scrape_configs"][0]["static_configs"] = [{"targets": [httpx.URL(server.url).netloc.decode()]}]
        (folder / "prometheus.yaml").write_text(yaml.safe_dump(configuration), "utf-8")
        command = [
            PROMETHEUS,
            f"--config.file={folder / 'prometheus.yaml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            "--web.listen-address=127.0.0.1:0",
        ]
        with TemporaryFile() as log:
            process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=log)
            try:
                address = until(lambda: LISTENS.search(written(log)))[1].decode("ascii")
                with httpx.Client(base_url=f"http://{address}/api/v1", timeout=60) as client:
                    for _ in range(3):
                        assert server.client.post("/encode", json={"text": "a"}).status_code == 200
                        assert server.client.post("/encode", json={}).status_code == 422
                    until(lambda: answer(client, "count_over_time(up[1m]) > 3"))
                    yield server, client
            finally:
                process.terminate()
                process.wait(timeout=60)


def answer(client: httpx.Client, query: str) -> list[dict[str, Any]]:
    """Return the series that a query gives."""
    told = client.get("/query", params={"query": query}).json()
    assert told["status"] == "success", told
    found: list[dict[str, Any]] = told["data"]["result"]
    return found


@pytest.mark.process
def test_every_panel_of_the_dashboard_gets_series(watched: tuple[Server, httpx.Client]) -> None:
    _, prometheus = watched
    assert [query for query in PANELS if not answer(prometheus, query)] == []


@pytest.mark.process
def test_no_alert_is_raised_for_a_healthy_server_and_one_is_when_it_is_gone(
    watched: tuple[Server, httpx.Client],
) -> None:
    server, prometheus = watched
    assert [query for query in ALERTS if answer(prometheus, query)] == []
    until(lambda: set(rules(prometheus).values()) == {("ok", "inactive")})
    assert len(rules(prometheus)) == len(ALERTS)
    server.stop()
    until(lambda: rules(prometheus)["TokdDown"] == ("ok", "pending"))
    until(lambda: rules(prometheus)["TokdMissing"] == ("ok", "pending"))


@pytest.mark.process
def test_a_dead_server_pages_somebody_and_dead_pods_of_others_do_not(tmp_path: Path) -> None:
    """Prometheus's own tool plays an hour: a tokd and another pod, found by their annotations, die at the same time."""
    if PROMTOOL is None:
        pytest.skip("there is no promtool; apt-get install prometheus")
    pod = 'job="kubernetes-pods", namespace="default"'
    labels = {"job": "kubernetes-pods", "namespace": "default", "instance": "a:8000", "severity": "page"}
    down = {"exp_labels": labels, "exp_annotations": {"summary": "a:8000 does not answer /metrics"}}
    test = {
        "rule_files": [str(DEPLOY / "alerts.yaml")],
        "tests": [
            {
                "interval": "1m",
                "input_series": [
                    {"series": f'up{{{pod}, instance="a:8000"}}', "values": "1x10 0x60"},
                    {"series": f'tokd_build_info{{{pod}, instance="a:8000", version="0.1.0"}}', "values": "1x10 stale"},
                    {"series": f'up{{{pod}, instance="b:80"}}', "values": "1x10 0x60"},
                ],
                "alert_rule_test": [
                    {"eval_time": "9m", "alertname": "TokdDown"},
                    {"eval_time": "13m", "alertname": "TokdDown", "exp_alerts": [down]},
                    {"eval_time": "60m", "alertname": "TokdDown", "exp_alerts": [down]},
                    {"eval_time": "9m", "alertname": "TokdMissing"},
                ],
            }
        ],
    }
    (tmp_path / "test.yaml").write_text(yaml.safe_dump(test), "utf-8")
    ran = subprocess.run([PROMTOOL, "test", "rules", tmp_path / "test.yaml"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def rules(prometheus: httpx.Client) -> dict[str, tuple[str, str]]:
    """Return whether each alert could be evaluated, and whether it is raised."""
    groups = prometheus.get("/rules").json()["data"]["groups"]
    return {rule["name"]: (rule["health"], rule["state"]) for group in groups for rule in group["rules"]}
