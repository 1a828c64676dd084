"""What surrounds the code agrees with it: versions, the container files, the CI run."""

import json
import re
import shlex
import tomllib
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import tokenizer_core
from service.app import create_app
from service.settings import Settings
from tests.support.packages import PROJECT
from tests.support.paths import ROOT

DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")


def instructions() -> list[list[str]]:
    """Split the Dockerfile into instructions, continued lines joined."""
    lines = DOCKERFILE.replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True) for line in lines if line.strip() and not line.startswith("#")]


def compose() -> dict[str, Any]:
    """Return the one service of docker-compose.yml."""
    document = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    assert list(document["services"]) == ["tokd"]
    return dict(document["services"]["tokd"])


def test_one_version_everywhere() -> None:
    assert PROJECT["dynamic"] == ["version"]
    newest = re.search(r"^## \[(\d+\.\d+\.\d+)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    kernel = tomllib.loads((ROOT / "tokenizer_core" / "kernel" / "Cargo.toml").read_text(encoding="utf-8"))
    version = kernel["package"]["version"]
    assert newest is not None
    assert newest[1] == version
    assert compose()["image"] == f"tokd:{version}"
    assert version == tokenizer_core.VERSION == create_app(Settings(access_log=False)).version


def test_every_copied_source_exists_and_reaches_the_builder() -> None:
    let_in = {
        line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line.startswith("!")
    }
    sources = [
        source
        for words in instructions()
        if words[0] == "COPY" and not words[1].startswith("--from")
        for source in words[1:-1]
        if not source.startswith("--")
    ]
    assert sources
    assert set(sources) <= let_in
    assert all((ROOT / source).exists() for source in sources)


LOCKS = {"image": ["build", "jobs"], "tests": ["build", "jobs", "test", "tools"]}


def locked(name: str) -> dict[str, set[str]]:
    """Return the versions of a lock file by the name of the package; several where the Python decides."""
    found: dict[str, set[str]] = {}
    for line in (ROOT / ".ci" / f"{name}.lock").read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
        pin = re.match(r"([a-z0-9-]+)(?:\[[a-z,-]+\])?==(\S+) ", line)
        assert pin is not None, line
        assert re.search(r"(?: --hash=sha256:[0-9a-f]{64})+ *$", re.sub(" +", " ", line)), line
        found.setdefault(pin[1], set()).add(pin[2])
    return found


@pytest.mark.parametrize("name", LOCKS)
def test_the_lock_pins_by_hash_what_is_required_and_names_no_address(name: str) -> None:
    pins = locked(name)
    wanted = [
        *PROJECT["dependencies"],
        *(one for extra in LOCKS[name] for one in PROJECT["optional-dependencies"][extra]),
    ]
    assert wanted
    for requirement in map(Requirement, wanted):
        assert all(requirement.specifier.contains(version) for version in pins[canonicalize_name(requirement.name)])
    assert "://" not in (ROOT / ".ci" / f"{name}.lock").read_text(encoding="utf-8")


def test_image_and_tests_run_the_same_versions_and_install_them_by_hash() -> None:
    pins = locked("tests")
    assert {name: pins[name] for name in locked("image")} == locked("image")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "--require-hashes --requirement .ci/tests.lock" in makefile
    fetching = [line for line in map(" ".join, instructions()) if re.search(r"pip (wheel|install)", line)]
    assert fetching
    assert all(re.search(r"--require-hashes|--no-index|--no-deps", line) for line in fetching)


@pytest.mark.parametrize("name", ["fastapi", "httptools", "starlette", "uvicorn", "uvloop"])
def test_libraries_whose_inside_is_leaned_on_have_an_upper_bound(name: str) -> None:
    (requirement,) = [one for one in map(Requirement, PROJECT["dependencies"]) if one.name == name]
    assert any(bound.operator in ("<", "==") for bound in requirement.specifier)
    assert not requirement.extras


def test_the_image_runs_without_root_and_tells_its_health() -> None:
    words = [words for words in instructions() if words[0] in {"USER", "HEALTHCHECK", "ENTRYPOINT", "FROM"}]
    last_stage = words[max(at for at, line in enumerate(words) if line[0] == "FROM") :]
    assert ["USER", "tokd"] in last_stage
    assert "/readyz" in str(next(line for line in last_stage if line[0] == "HEALTHCHECK"))
    assert "0.0.0.0" in str(next(line for line in last_stage if line[0] == "ENTRYPOINT"))


def test_the_user_of_the_image_can_read_what_is_copied_whatever_the_umask_of_the_clone() -> None:
    last_stage = instructions()[max(at for at, line in enumerate(instructions()) if line[0] == "FROM") :]
    copied = [line for line in last_stage if line[0] == "COPY" and not line[1].startswith("--from")]
    assert copied
    assert all("--chmod=755" in line for line in copied)


@pytest.mark.parametrize("port", [None, "12345"])
def test_the_health_of_the_image_is_asked_on_its_port(port: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("urllib.request.urlopen", lambda url, timeout: asked.append(url))
    monkeypatch.delenv("TOKD_PORT", raising=False)
    if port is not None:
        monkeypatch.setenv("TOKD_PORT", port)
    words = json.loads(DOCKERFILE.partition("HEALTHCHECK")[2].partition("CMD ")[2].partition("\n")[0])
    for python, flag, program in (words, compose()["healthcheck"]["test"][1:]):
        assert (python, flag) == ("python", "-c")
        exec(program, {})
    assert asked == [f"http://127.0.0.1:{port or 8000}/readyz"] * 2


def test_the_composed_service_is_read_only_and_on_loopback() -> None:
    service = compose()
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert service["command"] == ["--no-auth", "--allowed-host", "tokd"]
    assert any(volume.startswith("./artifacts:") for volume in service["volumes"])
    assert "/readyz" in service["healthcheck"]["test"][-1]


@pytest.mark.parametrize("target", ["check", "test-all"])
def test_the_ci_run_calls_the_make_target(target: str) -> None:
    assert f"make {target}\n" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
