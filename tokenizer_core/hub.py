"""Fetch the tokenizer's files of a repository of the Hugging Face hub, and nothing else of it.

``huggingface_hub`` (the extra ``hub``) does the work with its token, cache, mirror (``HF_ENDPOINT``) and offline mode.
No Python of a repository is ever run.
"""

from __future__ import annotations

import errno
import re
from dataclasses import dataclass
from pathlib import Path

from tokenizer_core.errors import ArtifactNotFound, InvalidOption, Unsupported

PREFIX = "hf:"
_REFERENCE = re.compile(r"hf:((?:[\w.-]+/)?[\w.-]+)(?:@([\w./-]+))?", re.ASCII)
_FILES = (
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
    *(
        "chat_template.jinja",
        "chat_template.json",
        "additional_chat_templates/*.jinja",
        "vocab.json",
        "merges.txt",
        "tekken.json",
    ),
    *("generation_config.json", "config.json", "sentencepiece.model", "spm.model"),
    *("tokenizer.model", "tiktoken.model", "qwen.tiktoken", "vocab.txt", "spiece.model", "sentencepiece.bpe.model"),
)
"""The files that readers look at, and those that tell a family that is not supported; never weights."""


def meant(path: str | Path) -> str:
    """Say how a repository is named, if a path that is not there looks like one."""
    looks_so = re.fullmatch(r"[A-Za-z0-9][\w.-]*/[\w.-]+", str(path), re.ASCII)
    return f"; the repository of the Hugging Face hub is {PREFIX}{path}" if looks_so else ""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The files of one commit.

    Attributes:
        directory: where they lie, in the cache of ``huggingface_hub``.
    """

    directory: Path
    repository: str
    commit: str


def fetch(reference: str) -> Snapshot:
    """Fetch ``hf:ORG/NAME`` or ``hf:ORG/NAME@REVISION``.

    Raises:
        ArtifactNotFound: there is no such repository or revision, it is closed to this token, or cannot be reached.
        InvalidOption: the reference is of another form.
        Unsupported: ``huggingface_hub`` is not installed.
    """
    parsed = _REFERENCE.fullmatch(reference)
    if parsed is None:
        raise InvalidOption(
            f"{reference[:80]!r} is not hf:ORG/NAME or hf:ORG/NAME@REVISION, such as hf:Qwen/Qwen3-8B", field="path"
        )
    repository, revision = parsed[1], parsed[2]
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import GatedRepoError
    except ImportError:
        raise Unsupported("hf: needs huggingface_hub; install it with pip install 'tokd[hub]'", field="path") from None
    try:
        directory = Path(snapshot_download(repository, revision=revision, allow_patterns=list(_FILES)))
    except GatedRepoError:
        raise ArtifactNotFound(
            f"{reference} is open only to accounts that were granted access; set HF_TOKEN, or run hf auth login",
            field="path",
        ) from None
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno in (errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EACCES):
            # Of the cache's disk, not of the repository.
            raise
        # Errors of the hub, of the network and of its check of names are among these.
        said = " ".join(str(error).split())[:300]
        raise ArtifactNotFound(f"{reference} cannot be fetched: {said}", field="path") from None
    return Snapshot(directory, repository, directory.name)
