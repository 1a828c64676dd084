"""The peers' own environment, ``benchmarks/.peers``: made on first use, never part of the project's."""

from __future__ import annotations

import os
import subprocess
import sys

from benchmarks.contenders import CONTENDERS
from benchmarks.corpora import ROOT
from benchmarks.family_openers import LIBRARIES
from benchmarks.trainers import TRAINERS

PEERS = ROOT / "benchmarks" / ".peers"
PYTHON = PEERS / "bin" / "python"
SERVERS = ("smg",)
CHATS = ("jinja2", "transformers")
NEEDED = ("cachetools", "numpy", "regex", "tiktoken", "tokenizers", "zstandard")


def pip_install(*packages: str) -> bool:
    """Install ready wheels; tell whether all of it worked."""
    command = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
    return subprocess.run([*command, *packages], check=False, stdout=sys.stderr).returncode == 0


def prepare() -> None:
    """Make the environment; a peer that does not install is left out and named."""
    packages = {
        one.package for table in (CONTENDERS, TRAINERS, LIBRARIES) for one in table.values() if one.package is not None
    }
    wanted = sorted({*packages, *SERVERS, *CHATS})
    done = PEERS / "installed"
    if done.exists() and done.read_text(encoding="utf-8").split() == wanted:
        return
    print(f"installing the peers into {PEERS.relative_to(ROOT)}", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", PEERS], check=True)
    if not pip_install(*NEEDED):
        raise SystemExit("the peers that every comparison needs did not install")
    for package in wanted:
        if not pip_install(package):
            print(f"{package} does not install here: left out", file=sys.stderr)
    done.write_text("\n".join(wanted), encoding="utf-8")


def environment() -> dict[str, str]:
    """Return the environment of a child, with this project importable."""
    return {**os.environ, "PYTHONPATH": str(ROOT)}
