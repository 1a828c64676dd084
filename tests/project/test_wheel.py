"""A wheel is all that a user needs: installed alone, from any folder, it encodes and serves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import httpx
import pytest

from tests.service.problems import assert_problem
from tests.support.packages import installed_with
from tests.support.server import ROOT, listening
from tests.support.waiting import until
from tokenizer_core import Tokenizer

KERNEL = ROOT / "tokenizer_core" / "kernel"
TEXT = "Hello, world"

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Take the wheel of ``TOKD_TEST_WHEEL``, or build one without optimization, in a folder that cargo uses again."""
    if "TOKD_TEST_WHEEL" in os.environ:
        return Path(os.environ["TOKD_TEST_WHEEL"]).absolute()
    out = tmp_path_factory.mktemp("wheel")
    quick = {"CARGO_PROFILE_DEV_OPT_LEVEL": "0", "CARGO_PROFILE_DEV_DEBUG": "0"}
    env = {**os.environ, **quick, "CARGO_TARGET_DIR": str(KERNEL / "target" / "wheel")}
    command = [sys.executable, "-m", "maturin", "build", "--quiet", "--profile", "dev", "--out", str(out)]
    subprocess.run(command, cwd=ROOT, env=env, check=True)
    (found,) = out.iterdir()
    return found


@pytest.fixture(scope="module", params=["", "jobs"])
def extra(request: pytest.FixtureRequest) -> str:
    """The extra with which the wheel is installed, if any."""
    return str(request.param)


@pytest.fixture(scope="module")
def home(wheel: Path, extra: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment with the wheel and links to what pip would install with it, in a folder of its own."""
    home = tmp_path_factory.mktemp("home")
    venv.create(home / "venv", symlinks=True)
    (packages,) = (home / "venv" / "lib").glob("python*/site-packages")
    for name in installed_with(*extra.split()):
        files = distribution(name)
        for top in {path.parts[0] for path in files.files or ()} - {".."}:
            if not (packages / top).exists():
                (packages / top).symlink_to(files.locate_file(top))
    install = ["install", "--quiet", "--no-deps", "--no-index", "--disable-pip-version-check", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", "--python", str(home / "venv"), *install], check=True)
    (home / "folder").mkdir()
    return home


def tokd(home: Path, *arguments: str, **streams: Any) -> subprocess.Popen[bytes]:
    command = [str(home / "venv" / "bin" / "tokd"), *arguments]
    return subprocess.Popen(command, cwd=home / "folder", env={"PATH": os.defpath}, **streams)


@pytest.fixture
def address(home: Path) -> Iterator[str]:
    with TemporaryFile() as log:
        server = tokd(home, "serve", "--port", "0", stdout=subprocess.DEVNULL, stderr=log)
        try:
            yield listening(server, log)
        finally:
            server.terminate()
            server.wait(timeout=60)


def test_a_wheel_is_for_every_later_python_and_holds_the_base_artifact(wheel: Path) -> None:
    assert "-cp311-abi3-" in wheel.name
    names = subprocess.run([sys.executable, "-m", "zipfile", "--list", str(wheel)], check=True, capture_output=True)
    found = {line.split()[0] for line in names.stdout.decode().splitlines()}
    assert {f"tokenizer_core/base/{path.name}" for path in (ROOT / "artifacts" / "base").iterdir()} <= found
    page = {f"service/playground/{path.name}" for path in (ROOT / "service" / "playground").iterdir()}
    assert len(page) > 10
    assert page <= found
    assert not [name for name in found if name.startswith(("artifacts/", "tests/", "tokenizer_core/kernel/"))]


@pytest.mark.parametrize("given", [[TEXT], []])
def test_the_command_encodes_from_any_folder(home: Path, given: list[str]) -> None:
    command = tokd(home, "encode", *given, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, error = command.communicate(TEXT.encode(), timeout=60)
    assert (command.returncode, error) == (0, b"")
    assert [int(id) for id in out.split()] == Tokenizer.open(ROOT / "artifacts" / "base").encode(TEXT).tolist()


def test_the_server_serves_from_any_folder_and_publishes_there(home: Path, extra: str, address: str) -> None:
    expected = Tokenizer.open(ROOT / "artifacts" / "base")
    answer = httpx.post(f"{address}/encode", json={"text": TEXT}).json()
    assert (answer["ids"], answer["tokenizer"]) == (expected.encode(TEXT).tolist(), expected.hash)
    body = {"corpus": {"texts": ["low lower lowest"]}, "settings": {"vocab_size": 258}}
    submitted = httpx.post(f"{address}/train-job", json=body)
    if extra != "jobs":
        assert_problem(submitted, "jobs_not_installed")
        assert list((home / "folder").iterdir()) == []
        return
    place = submitted.headers["location"]
    assert until(lambda: json.loads(httpx.get(address + place).content)["state"] == "succeeded")
    assert len([path for path in (home / "folder" / "artifacts").iterdir() if path.name != ".jobs"]) == 1
