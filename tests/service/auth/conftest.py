"""A file of keys, one for every scope."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from service.auth.identity import Scope
from service.auth.keys import entry, new_key
from tests.service.conftest import MakeClient


@dataclass
class KeyRing:
    """A file of keys and the keys that it holds the hashes of, by name."""

    path: Path
    keys: dict[str, str]

    def write(self, **scopes: list[Scope]) -> None:
        """Replace the file by one of new keys, as ``tokd key new`` and a rename would."""
        self.keys = {name: new_key() for name in scopes}
        text = "".join(entry(name, scopes[name], key) for name, key in self.keys.items())
        self.replace(text)

    def replace(self, text: str) -> None:
        temporary = self.path.with_suffix(".part")
        temporary.write_text(text)
        temporary.replace(self.path)

    def bearer(self, name: str) -> dict[str, str]:
        return {"authorization": f"Bearer {self.keys[name]}"}


@pytest.fixture
def ring(tmp_path: Path) -> KeyRing:
    ring = KeyRing(tmp_path / "keys.toml", {})
    ring.write(reader=["encode"], trainer=["train"], boss=["admin"])
    return ring


@pytest.fixture
def guarded(make_client: MakeClient, ring: KeyRing) -> TestClient:
    return make_client(keys=str(ring.path))
