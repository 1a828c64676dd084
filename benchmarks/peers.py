"""The peers' own environment, ``benchmarks/.peers``: made on first use, never part of the project's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.family_worker import LIBRARIES
from benchmarks.openers import CONTENDERS
from benchmarks.process import ROOT
from benchmarks.trainers import TRAINERS

PEERS = ROOT / "benchmarks" / ".peers"
PYTHON = PEERS / "bin" / "python"
SERVERS = ("smg",)
CHATS = ("jinja2", "transformers")
NEEDED = ("backports.zstd", "cachetools", "numpy", "regex", "tiktoken", "tokenizers", "zstandard")


WRITERS = {
    "datatrove": ("datatrove[io,processing]", "datasets", "litdata", "torch", "zstandard"),
    "mosaicml-streaming": ("mosaicml-streaming", "pyarrow"),
    "dolma": ("msgspec", "numpy", "pyarrow", "smart_open", "typing_extensions", "zstandard"),
    "trl": ("datasets", "numpy", "transformers"),
}
"""Environments of writers of token files and of packers, which want other releases of one package."""

WITHOUT_NEEDS = {"datatrove": "megatron-core", "dolma": "dolma", "trl": "trl"}
"""What an environment has beside, without what that asks for, such as PyTorch where only files are written."""


def writer(package: str) -> Path:
    """Return the Python that has a package of these."""
    return PEERS / (package if package in WRITERS else "datatrove") / "bin" / "python"


def prepare_writers(*names: str) -> None:
    """Make environments of writers: several GB, for they need PyTorch."""
    for name in names:
        packages, python = WRITERS[name], writer(name)
        if (PEERS / name / "installed").exists():
            continue
        print(f"installing {name} into {python.parent.parent.relative_to(ROOT)}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", PEERS / name], check=True)
        beside = WITHOUT_NEEDS.get(name)
        if pip_install(*packages, python=python) and (not beside or pip_install("--no-deps", beside, python=python)):
            (PEERS / name / "installed").touch()
        else:
            print(f"{name} does not install here: left out", file=sys.stderr)


def pip_install(*packages: str, python: Path = PYTHON) -> bool:
    """Install ready wheels; tell whether all of it worked."""
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
    return subprocess.run([*command, *packages], check=False, stdout=sys.stderr).returncode == 0


def prepare() -> None:
    """Make the environment; a peer that does not install is left out and named."""
    packages = {one.package for table in (CONTENDERS, TRAINERS) for one in table.values() if one.package is not None}
    wanted = sorted({*packages, *LIBRARIES, *SERVERS, *CHATS} - {"tokd"})
    done = PEERS / "installed"
    if done.exists() and done.read_text(encoding="utf-8").split() == wanted:
        return
    print(f"installing the peers into {PEERS.relative_to(ROOT)}, once; this takes minutes", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", PEERS], check=True)
    if not pip_install(*NEEDED):
        raise SystemExit("the peers that every comparison needs did not install")
    for package in wanted:
        if not pip_install(package):
            print(f"{package} does not install here: left out", file=sys.stderr)
    done.write_text("\n".join(wanted), encoding="utf-8")
