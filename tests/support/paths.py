"""The folder of the project, for tests that look at its files."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BASE = ROOT / "artifacts" / "base"
