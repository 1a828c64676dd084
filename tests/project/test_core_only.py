"""Without any extra all is there but the extras' own work, which is refused by the name of the extra."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path
from tempfile import TemporaryFile

import httpx
import pytest
from packaging.utils import canonicalize_name

from tests.service.problems import assert_problem
from tests.support.packages import EXTRAS, installed_with
from tests.support.paths import ROOT
from tests.support.server import listening

pytestmark = pytest.mark.process

WALK = """
import importlib, pkgutil, tokenizer_core, service
for package in (tokenizer_core, service):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        try:
            "__main__" in module.name or importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            print(module.name, error.name.partition(".")[0])
"""
COMMANDS = {
    "jobs": ["worker"],
    "otel": ["serve", "--port", "0", "--otlp-endpoint", "http://127.0.0.1:4318"],
    "hub": ["import", "hf:org/name", "-o", "out"],
    "parquet": ["train", "texts.parquet", "-o", "out"],
    "remote": ["train", "s3://bucket/texts.txt", "-o", "out"],
    "ray": ["encode-corpus", "texts.txt", "-o", "out", "--engine", "ray"],
    "arrow": ["encode-corpus", "texts.txt", "-o", "out", "--format", "arrow"],
}
"""A command that needs an extra, by the extra."""


def modules(found: Distribution) -> set[str]:
    """Return the packages and modules of a distribution, of two levels: several may share the first."""
    files = [path for path in found.files or () if path.suffix in {".py", ".so"}]
    names = {
        path.parts[:-1] if path.stem == "__init__" else (*path.parts[:-1], path.name.split(".")[0]) for path in files
    }
    return {".".join(name[:2]) for name in names if name and ".." not in name}


@pytest.fixture(scope="module")
def blocking() -> str:
    """Return a program's first line, after which packages of extras, tests and tools cannot be imported."""
    core = installed_with()
    allowed, blocked = set[str](), set[str]()
    for each in distributions():
        name = canonicalize_name(each.name)
        if name != "tokd":
            (allowed if name in core else blocked).update(modules(each))
    blocked -= allowed | {name.partition(".")[0] for name in allowed}
    assert {"sqlalchemy", "pyarrow", "ray", "huggingface_hub", "fsspec", "opentelemetry.sdk"} <= blocked
    return f"import sys; sys.modules |= dict.fromkeys({sorted(blocked)})\n"


def test_every_module_is_imported_but_those_of_an_extra_and_of_tests(blocking: str) -> None:
    done = subprocess.run([sys.executable, "-c", blocking + WALK], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    missing = {tuple(line.split()) for line in done.stdout.splitlines()}
    assert {module.rpartition(".")[0] for module, needs in missing if needs == "sqlalchemy"} == {"service.jobs"}
    others = {module for module, needs in missing if needs != "sqlalchemy"}
    assert all(module.startswith("tokenizer_core.reference.") for module in others)


def test_every_command_that_needs_an_extra_names_it(blocking: str, tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("once upon a time")
    (tmp_path / "texts.parquet").write_bytes(b"PAR1")
    program = (
        f"from service.cli import main\nfor command in {list(COMMANDS.values())}:\n    assert main(command) != 0\n"
    )
    done = subprocess.run([sys.executable, "-c", blocking + program], cwd=tmp_path, capture_output=True, text=True)
    lines = [line for line in done.stderr.splitlines() if "error" in line]
    assert done.returncode == 0, done.stderr
    assert len(lines) == len(COMMANDS)
    assert [extra for extra, line in zip(COMMANDS, lines, strict=True) if f"tokd[{extra}]" not in line] == []
    assert COMMANDS.keys() == EXTRAS


def test_a_server_does_all_but_jobs_and_names_what_they_need(blocking: str, tmp_path: Path) -> None:
    program = f"{blocking}from service.cli import main; main(['serve', '--port', '0'])"
    with TemporaryFile() as log:
        server = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=log)
        try:
            with httpx.Client(base_url=listening(server, log), timeout=60) as client:
                assert client.post("/encode", json={"text": "Hello, world"}).json()["count"] == 3
                for path in ("/", "/docs", "/readyz", "/metrics"):
                    assert client.get(path).status_code == 200, path
                body = {"corpus": {"texts": ["low lower lowest"]}, "settings": {"vocab_size": 258}}
                for answer in (client.post("/train-job", json=body), client.get("/encode-job")):
                    assert_problem(answer, "jobs_not_installed")
                    assert "pip install 'tokd[jobs]'" in answer.json()["detail"]
        finally:
            server.terminate()
            assert server.wait(timeout=60) == 0
    assert list(tmp_path.iterdir()) == []
