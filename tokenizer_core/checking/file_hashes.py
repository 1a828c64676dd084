"""Point 7: files match the hashes of the manifest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tokenizer_core import artifact
from tokenizer_core.checking.report import Finding, failed, not_applicable, passed
from tokenizer_core.tokenizer import Tokenizer


def file_hashes(tokenizer: Tokenizer, path: Path | None) -> Finding:
    """Hash every file again, and hold the manifest's hash of the tokenizer against the one in memory.

    The manifest may have changed since the tokenizer was loaded, so nothing in it is trusted.

    Raises:
        ArtifactNotFound, InvalidArtifact
    """
    if path is None:
        return not_applicable("the tokenizer was not loaded from an artifact")
    hash, pinned, found = artifact.rehash(path)
    changed: list[dict[str, Any]] = [
        {"file": name, "expected": expected, "found": found[name]}
        for name, expected in pinned.items()
        if found[name] != expected
    ]
    if changed:
        return failed(f"{changed[0]['file']} is not the file that the manifest pins", changed=changed)
    if hash != tokenizer.hash:
        return failed("the manifest pins another tokenizer than the one in memory", expected=hash, found=tokenizer.hash)
    return passed(f"{len(found)} files are those of the manifest", files=found, hash=tokenizer.hash)
