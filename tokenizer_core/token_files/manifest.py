"""The facts of token files in ``manifest.json``: written last, so that its presence means that they are whole."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizer_core.errors import InvalidCorpus
from tokenizer_core.short_repr import ShortRepr
from tokenizer_core.token_files.layouts import LAYOUTS
from tokenizer_core.token_files.layouts.layout import Layout, Shape, Shard

FORMAT = "tokd tokens 1"
NAME = "manifest.json"


@dataclass(frozen=True, slots=True, repr=False)
class TokenFiles(ShortRepr):
    """Token files in a directory.

    Attributes:
        tokenizer: its hash.
        skipped: documents that were left out.
        trained: tokens that are trained on, or ``None`` if the files do not say which.
        manifest: all that ``manifest.json`` says.
    """

    path: Path
    layout: str
    documents: int
    tokens: int
    dtype: str
    tokenizer: str
    skipped: int
    manifest: dict[str, Any]

    @property
    def trained(self) -> int | None:
        trained: int | None = self.manifest.get("trained")
        return trained

    @property
    def shards(self) -> list[Shard]:
        return [Shard(shard["documents"], shard["tokens"], shard["files"]) for shard in self.manifest["shards"]]

    @property
    def shape(self) -> Shape:
        found = self.manifest
        return Shape(
            found["dtype"],
            found["name"],
            found["eos"]["id"],
            is_labeled=self.trained is not None,
            is_packed=found.get("packed") is not None,
        )

    @property
    def written_by(self) -> Layout:
        return LAYOUTS[self.manifest["layout"]]


def is_token_files(path: Path) -> bool:
    """Return whether a directory holds token files, whatever state they are in."""
    try:
        found = json.loads((path / NAME).read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and found.get("format") == FORMAT


def read_token_files(path: Path) -> TokenFiles:
    """Read the manifest of token files.

    Raises:
        InvalidCorpus: there is none, or it is not one of this version.
    """
    file = str(path / NAME)
    try:
        found = json.loads((path / NAME).read_bytes())
        if found["format"] != FORMAT or found["layout"] not in LAYOUTS:
            raise ValueError(f"its format is {found['format']!r}, not {FORMAT!r}")
        counts = found["documents"], found["tokens"], found["dtype"], found["tokenizer"], found["skipped"]
        files = TokenFiles(path, found["layout"], *counts, found)
        _ = files.shards, files.shape
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise InvalidCorpus(f"{file} is not the manifest of token files: {error}", file=file) from None
    return files
