"""Point 7: the files on disk are the ones that the manifest pins."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tokenizer_core.artifact import MANIFEST
from tokenizer_core.checking.report import Finding, failed, not_applicable, passed
from tokenizer_core.formats import files
from tokenizer_core.tokenizer import Tokenizer


def file_hashes(tokenizer: Tokenizer, path: Path | None) -> Finding:
    """Hash every file again, and hold the manifest's hash of the tokenizer against the one in memory."""
    if path is None:
        return not_applicable("the tokenizer was not loaded from an artifact")
    try:
        manifest = json.loads((path / MANIFEST).read_bytes())
        pinned: dict[str, str] = manifest["files"]
        found = {name: files.sha256((path / name).read_bytes()) for name in pinned}
    except OSError as error:
        return failed(f"{error.filename}: {files.reason(error)}", file=str(error.filename))
    except (ValueError, KeyError, TypeError, RecursionError):
        return failed(f"{MANIFEST} is no manifest", file=MANIFEST)
    changed: list[dict[str, Any]] = [
        {"file": name, "expected": pinned[name], "found": hash_}
        for name, hash_ in found.items()
        if hash_ != pinned[name]
    ]
    if changed:
        return failed(f"{changed[0]['file']} is not the file that the manifest pins", changed=changed)
    if manifest["hash"] != tokenizer.hash:
        return failed(
            "the manifest pins another tokenizer than the one in memory",
            expected=manifest["hash"],
            found=tokenizer.hash,
        )
    return passed(f"{len(found)} files are those of the manifest", files=found, hash=tokenizer.hash)
