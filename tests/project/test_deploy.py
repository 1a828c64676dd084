"""The files for operators agree with the server: its options, variables, probes and metrics."""

from __future__ import annotations

import dataclasses
import importlib.resources
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import promql_parser as promql
import pytest
import yaml
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

import tokenizer_core
from service import settings
from service.app import create_app
from service.cli.command_line import COMMANDS, make_parser
from tests.support.paths import ROOT

DEPLOY = ROOT / "docs" / "deploy"
TARGET = {"job", "instance"}
"""Labels that Prometheus itself gives every series."""


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((DEPLOY / name).read_text("utf-8")))


ALERTS = [rule["expr"] for group in documents("alerts.yaml")[0]["groups"] for rule in group["rules"]]
PANELS = [
    target["expr"].replace("$__rate_interval", "5m")
    for panel in json.loads((DEPLOY / "grafana.json").read_text("utf-8"))["panels"]
    for target in panel["targets"]
]


@pytest.fixture(scope="module")
def series() -> dict[str, set[str]]:
    """Return the labels of every series of a server that has answered and refused."""
    app = create_app(settings.Settings(artifacts=(str(ROOT / "artifacts" / "base"),), access_log=False))
    client = TestClient(app, base_url="http://localhost")
    assert client.post("/encode", json={"text": "a"}).status_code == 200
    assert client.post("/encode", json={}).status_code == 422
    found: dict[str, set[str]] = {"up": set()}
    for family in text_string_to_metric_families(client.get("/metrics").text):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def selectors(node: Any) -> Iterator[Any]:
    """Find every selection of series in a parsed query."""
    if isinstance(node, promql.VectorSelector):
        yield node
    for name in ("expr", "lhs", "rhs", "vector_selector"):
        if (inner := getattr(node, name, None)) is not None:
            yield from selectors(inner)
    for argument in getattr(node, "args", ()):
        yield from selectors(argument)


@pytest.mark.parametrize("query", [*ALERTS, *PANELS])
def test_every_query_asks_for_series_and_labels_that_the_server_has(query: str, series: dict[str, set[str]]) -> None:
    found = list(selectors(promql.parse(query)))
    assert len(found) == len(re.findall(r"\b(?:tokd|process)_\w+|\bup\b", query))
    for selector in found:
        assert selector.name in series
        labels = {matcher.name for matcher in selector.matchers.matchers}
        assert labels <= series[selector.name] | TARGET
    grouped = {label.strip() for labels in re.findall(r"by \(([^)]*)\)", query) for label in labels.split(",")}
    assert grouped <= set().union(*(series[selector.name] for selector in found)) | TARGET


def containers(name: str) -> Iterator[tuple[dict[str, Any], set[str]]]:
    """Find the containers of tokd, each with the volumes of its pod."""
    for document in documents(name):
        spec = document.get("spec", {})
        spec = spec.get("template", {}).get("spec", spec)
        volumes = {each["name"] for each in spec.get("volumes", ())}
        yield from ((each, volumes) for each in spec.get("containers", ()) if each["image"].startswith("tokd:"))


def known(words: list[str]) -> None:
    """Require that the server's own parser takes a command line."""
    assert words[0] == "tokd"
    assert words[1] in COMMANDS
    make_parser(words[1:2]).parse_args(words[1:])


@pytest.mark.parametrize("version", ["1.30", kubernetes_validate.latest_version()])
@pytest.mark.parametrize("name", ["autoscaling.yaml", "kubernetes.yaml", "sidecar.yaml", "tokenizers.yaml"])
def test_manifests_are_what_the_schemas_of_kubernetes_want(name: str, version: str) -> None:
    for document in documents(name):
        kubernetes_validate.validate(document, version, strict=True)


def test_the_schemas_of_kubernetes_refuse_a_misspelt_field() -> None:
    budget = next(each for each in documents("kubernetes.yaml") if each["kind"] == "PodDisruptionBudget")
    budget["spec"]["minAvailible"] = budget["spec"].pop("minAvailable")
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(budget, kubernetes_validate.latest_version(), strict=True)


@pytest.mark.parametrize("path", [ROOT / "docker-compose.yml", DEPLOY / "compose.yaml"], ids=lambda path: path.name)
def test_compose_files_are_what_their_schema_wants(path: Path) -> None:
    schemas = importlib.resources.files("check_jsonschema") / "builtin_schemas" / "vendor"
    schema = json.loads((schemas / "compose-spec.json").read_text("utf-8"))
    document = yaml.safe_load(path.read_text("utf-8"))
    jsonschema.validate(document, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**document, "servises": {}}, schema)


def variables(names: list[str]) -> None:
    fields = {f"{settings.ENV_PREFIX}{field.name.upper()}" for field in dataclasses.fields(settings.Settings)}
    assert set(names) <= fields


@pytest.mark.parametrize("name", ["kubernetes.yaml", "sidecar.yaml", "tokenizers.yaml"])
def test_containers_have_options_variables_and_the_version_of_the_server(name: str) -> None:
    found = list(containers(name))
    assert found
    for container, volumes in found:
        known(container.get("command", ["tokd", "serve", "--host", "0.0.0.0"]) + container.get("args", []))
        variables([each["name"] for each in container.get("env", ())])
        assert container["image"] == f"tokd:{tokenizer_core.VERSION}"
        assert {"cpu", "memory"} <= set(container["resources"]["limits"])
        assert {each["name"] for each in container["volumeMounts"]} <= volumes


def test_probes_ask_routes_and_the_pod_ends_after_its_drain() -> None:
    deployment, *others = documents("kubernetes.yaml")
    spec = deployment["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    asked = {container[f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "readiness", "liveness")}
    assert asked == {"/readyz", "/healthz"}
    drain = next(each["value"] for each in container["env"] if each["name"] == "TOKD_DRAIN_SECONDS")
    probe = container["readinessProbe"]
    assert probe["periodSeconds"] * probe["failureThreshold"] < int(drain) < spec["terminationGracePeriodSeconds"]
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert deployment["spec"]["selector"]["matchLabels"] == labels
    selecting = {each["kind"]: each["spec"].get("selector") for each in others}
    assert selecting["Service"] == labels
    assert selecting["PodDisruptionBudget"]["matchLabels"] == labels
    (scaler,) = [each for each in others if each["kind"] == "HorizontalPodAutoscaler"]
    assert scaler["spec"]["scaleTargetRef"]["name"] == deployment["metadata"]["name"]


def test_the_autoscaler_on_queue_time_asks_for_what_the_adapter_makes_of_the_servers_metric(
    series: dict[str, set[str]],
) -> None:
    (scaler,), (adapter,) = documents("autoscaling.yaml"), documents("adapter.yaml")
    (rule,) = adapter["rules"]["custom"]
    asked = [each["pods"]["metric"]["name"] for each in scaler["spec"]["metrics"] if each["type"] == "Pods"]
    assert asked == [rule["name"]["as"]]
    replaced = next(each for each in documents("kubernetes.yaml") if each["kind"] == scaler["kind"])
    assert scaler["metadata"] == replaced["metadata"]
    assert scaler["spec"]["scaleTargetRef"] == replaced["spec"]["scaleTargetRef"]
    # As the adapter fills in a query for the pods of a namespace.
    query = (
        rule["metricsQuery"].replace("<<.LabelMatchers>>", 'namespace="a",pod=~"b|c"').replace("<<.GroupBy>>", "pod")
    )
    for text in (query, rule["seriesQuery"]):
        found = list(selectors(promql.parse(text)))
        assert found
        assert {selector.name for selector in found} <= series.keys()
    of_resources = set(rule["resources"]["overrides"])
    assert of_resources == {label for selector in found for label in (m.name for m in selector.matchers.matchers)}


def test_the_unit_of_systemd_starts_what_there_is() -> None:
    text = (DEPLOY / "tokd.service").read_text("utf-8")
    (command,) = re.findall(r"^ExecStart=(.*)$", text, re.MULTILINE)
    program, *words = shlex.split(command)
    known([program.rpartition("/")[2], *words])
    variables(re.findall(r"^Environment=(\w+)=", text, re.MULTILINE))
    seconds = re.search(r"^TimeoutStopSec=(\d+)$", text, re.MULTILINE)
    assert seconds is not None
    assert int(seconds[1]) > int(re.findall(r"TOKD_DRAIN_SECONDS=(\d+)", text)[0])


def test_the_watching_services_mount_files_that_are_there() -> None:
    (compose,) = documents("compose.yaml")
    for service in compose["services"].values():
        assert service["profiles"] == ["watch"]
        for volume in service["volumes"]:
            assert (ROOT / volume.split(":")[0]).is_file()
    (prometheus,) = documents("prometheus.yaml")
    assert all((DEPLOY / name).is_file() for name in prometheus["rule_files"])
    (source,) = documents("grafana-datasource.yaml")[0]["datasources"]
    dashboard = json.loads((DEPLOY / "grafana.json").read_text("utf-8"))
    assert {panel["datasource"]["uid"] for panel in dashboard["panels"]} == {source["uid"]}
