"""Read whatever a model ships: the one place that goes from a path to the reader of its format."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path

from tokenizer_core import artifact, hub
from tokenizer_core.arguments import path_of
from tokenizer_core.config import TokenizerParts
from tokenizer_core.errors import ArtifactNotFound, InvalidOption
from tokenizer_core.formats import (
    bert,
    files,
    gguf,
    hf_json,
    known_ranks,
    sentencepiece,
    tekken,
    tiktoken,
    vocab_merges,
)
from tokenizer_core.formats.recognise import Format, Source, recognise
from tokenizer_core.formats.side_files import names_beside


def read(
    path: str | Path,
    *,
    format: Format | None = None,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
) -> TokenizerParts:
    """Read a file or directory; its content decides the format unless ``format`` does.

    Args:
        pattern: of a format that does not hold it: a rank file, or ``vocab.json`` with ``merges.txt``.
        special_tokens: ids by literal, of the same formats.

    Raises:
        ArtifactNotFound, HashMismatch, InvalidArtifact, Unsupported
        InvalidOption: the format holds what was given, or does not hold what was not.
    """
    if isinstance(path, str) and path.startswith(hub.PREFIX):
        snapshot = hub.fetch(path)
        parts = read(snapshot.directory, format=format, pattern=pattern, special_tokens=special_tokens)
        parts = dataclasses.replace(parts, name=files.name_of_directory(Path(snapshot.repository)))
        return _with_origin(parts, repository=snapshot.repository, commit=snapshot.commit)
    path = path_of(path)
    if hint := "" if os.path.lexists(path) else hub.meant(path):
        raise ArtifactNotFound(f"there is no file {path}{hint}", field=path.name)
    source = recognise(path) if format is None else Source(format, path)
    parts = _read(source, pattern, special_tokens)
    if source.format == "artifact":
        return parts
    directory = source.path if source.path.is_dir() else source.path.parent
    beside = [name for name in names_beside(directory) if name not in parts.provenance["imported_from"]["files"]]
    passed_over = [*source.passed_over, *(name.encode(errors="backslashreplace").decode() for name in beside)]
    return _with_origin(parts, passed_over=passed_over) if passed_over else parts


def _with_origin(parts: TokenizerParts, **more: object) -> TokenizerParts:
    origin = {**parts.provenance["imported_from"], **more}
    return dataclasses.replace(parts, provenance={**parts.provenance, "imported_from": origin})


def _read(source: Source, pattern: str | None, special_tokens: Mapping[str, int] | None) -> TokenizerParts:
    path = source.path
    match source.format:
        case "tiktoken":
            if pattern is None and not special_tokens and (parts := known_ranks.read(path)) is not None:
                return parts
            if pattern is None:
                raise InvalidOption(
                    "a rank file does not hold its pattern, and this name is not known; give it (--pattern), such as "
                    "cl100k_base",
                    field="pattern",
                )
            return tiktoken.read(path, pattern=pattern, special_tokens=special_tokens)
        case "vocab_merges":
            vocab, merges = path / "vocab.json", path / "merges.txt"
            return vocab_merges.read(vocab, merges, pattern=pattern or "gpt2", special_tokens=special_tokens)
        case _ if pattern is not None or special_tokens:
            raise InvalidOption(
                f"{path.name} names its own pattern and special tokens; leave the options out",
                field="special_tokens" if pattern is None else "pattern",
            )
        case "huggingface":
            return hf_json.read(path)
        case "tekken":
            return tekken.read(path)
        case "sentencepiece":
            return sentencepiece.read(path)
        case "gguf":
            return gguf.read(path)
        case "vocab_txt":
            return bert.read(path)
        case "artifact":
            return artifact.read(path)
