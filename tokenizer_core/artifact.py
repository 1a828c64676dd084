"""The artifact: a directory in Hugging Face's layout with a manifest that pins every byte of it.

Reading verifies before it parses: every file is opened once, without following links, and what was hashed is what is
parsed. Writing goes to a directory beside the place, which takes the place in one step: a reader sees all or nothing.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizer_core._kernel import UNICODE_VERSION
from tokenizer_core.arguments import path_of, place_of
from tokenizer_core.config import PipelineConfig, Settings, TokenizerParts
from tokenizer_core.errors import (
    ArtifactError,
    ArtifactNotFound,
    HashMismatch,
    InvalidArtifact,
    Unsupported,
)
from tokenizer_core.formats import files, hf_json, pair_table, sentencepiece
from tokenizer_core.formats.fields import Fields
from tokenizer_core.formats.hf_configs import GENERATION
from tokenizer_core.stages import Pretokenizer

SCHEMA = 1
"""The version of the manifest; another one is refused."""

MANIFEST = "manifest.json"
TOKENIZERS = ("tokenizer.json", sentencepiece.MODEL)
"""Files that hold the tokenizer; an artifact has one of them."""
FILES = (
    *TOKENIZERS,
    *("tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja", GENERATION, pair_table.NAME),
)
"""Files of an artifact beside its manifest."""

BASE_ARTIFACT = "artifacts/base"
_INSTALLED = Path(__file__).with_name("base")
"""A link to ``artifacts/base`` in a checkout, a copy of it in a wheel."""

_UNPINNED = ("vocab.json", "merges.txt", "added_tokens.json", "additional_chat_templates", "chat_template.json")
"""Files that other programs would read from the directory, although no manifest pins them."""

_MAX_REPLACED = 16
"""A reader that finds its directory emptied by a writer begins again, this often at most."""


def base_artifact() -> str:
    """Return the path of tokd's own tokenizer: below the working directory, or else in the package."""
    return BASE_ARTIFACT if Path(BASE_ARTIFACT).is_dir() or not _INSTALLED.is_dir() else str(_INSTALLED)


def tokenizer_hash(parts: TokenizerParts) -> str:
    """Hash everything that can change an id, and nothing else: equal hashes mean equal ids."""
    config = parts.config.to_json().encode()
    covered = [b"tokd tokenizer 1", config, UNICODE_VERSION.encode(), parts.vocabulary.digest]
    framed = (parts.settings.pair_template, parts.settings.type_ids)
    if framed != (None, None):
        covered.append(json.dumps(framed).encode())
    return files.sha256(b"\n".join(covered))


def template_hash(settings: Settings) -> str | None:
    """Hash the chat template, or return ``None`` where there is none."""
    return None if settings.chat_template is None else files.sha256(settings.chat_template.encode())


def write(parts: TokenizerParts, path: str | Path, *, name: str | None = None) -> None:
    """Write an artifact directory: all of it appears at once, or nothing.

    Args:
        path: the directory. An existing artifact is replaced in one step; anything else is left alone, also an
            artifact with other files in its directory.
        name: for the manifest; by default made from the directory's.

    Raises:
        InvalidArtifact: ``invalid_name``, ``path`` holds something else, or no reader would take the settings.
        InvalidOption: no directory can be called so.
        OSError: the place cannot be written to.
        Unsupported: Hugging Face's layout cannot say this pipeline.
    """
    from tokenizer_core.formats import hf_write
    from tokenizer_core.formats.publish import publish

    path = place_of(path)
    name = files.name_of_directory(path) if name is None else files.check_name(name)
    rendered = hf_write.render(parts)
    if pair_table.wanted(parts):
        rendered[pair_table.NAME] = pair_table.render(parts)
    # With its metadata: a role that no token has would be refused by whoever opens the artifact.
    again = _parse(rendered)
    if tokenizer_hash(again) != tokenizer_hash(parts):
        raise Unsupported(
            f"{next(iter(rendered))} cannot say this tokenizer: what is read from it is another one; where pieces are "
            "taken whole, an added token that is not special needs the first id behind the others",
            field=next(iter(rendered)),
        )
    manifest = _manifest(parts, name, {file: files.sha256(data) for file, data in rendered.items()})
    text = json.dumps(manifest, ensure_ascii=False, indent=2, sort_keys=True, allow_nan=False)
    publish(path, rendered | {MANIFEST: text.encode() + b"\n"}, check_replaced=_check_replaced)


def holds(path: str | Path, parts: TokenizerParts, *, name: str | None = None) -> bool:
    """Return whether the artifact at ``path`` is whole, and that of this tokenizer with its template and provenance."""
    try:
        there = read(path)
    except (ArtifactError, OSError):
        return False
    settings = (there.settings, parts.settings)
    same = tokenizer_hash(there) == tokenizer_hash(parts) and all(
        len({getattr(one, key) for one in settings}) == 1 for key in ("bos", "eos", "pad", "chat_template")
    )
    named = there.name == (files.name_of_directory(Path(path)) if name is None else name)
    return same and named and there.provenance == parts.provenance


def read(path: str | Path) -> TokenizerParts:
    """Read an artifact directory and verify every hash in its manifest.

    Raises:
        ArtifactNotFound: there is no such directory, or no manifest in it.
        HashMismatch: naming the file, the expected and the found hash.
        InvalidArtifact, Unsupported
        InvalidOption: it is not a path.
    """
    path = path_of(path)
    for _ in range(_MAX_REPLACED):
        directory = _open(path)
        try:
            return _read(directory)
        except ArtifactNotFound as error:
            if os.path.samestat(os.fstat(directory), _status(path)):
                message = f"there is no artifact at {path}: {error.message}; {_way(path)}"
                raise ArtifactNotFound(message, **error.place) from None
            missing = error
        finally:
            os.close(directory)
    raise missing


def _way(path: Path) -> str:
    return f"if that is a model's, tokd import {path} -o DIR makes one"


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        way = f"; {_way(path)}" if isinstance(error, NotADirectoryError) else ""
        if isinstance(error, FileNotFoundError):
            way = f"; tokd import MODEL -o {path} makes one of hf:ORG/NAME or a directory"
        raise ArtifactNotFound(f"there is no artifact at {path}: {files.reason(error)}{way}") from None


def _status(path: Path) -> os.stat_result:
    try:
        return path.stat()
    except OSError as error:
        raise ArtifactNotFound(f"there is no artifact at {path}: {files.reason(error)}") from None


def _read(directory: int) -> TokenizerParts:
    manifest = files.parse_json(_read_file(MANIFEST, directory), MANIFEST)
    fields = Fields(manifest, MANIFEST)
    if not files.same_json(schema := fields.any("schema"), SCHEMA):
        raise Unsupported(
            f"the manifest has schema {json.dumps(schema)[:40]}, and only {SCHEMA} is known", field="schema"
        )
    if (version := fields.take("unicode_version", str)) != UNICODE_VERSION:
        raise Unsupported(
            f"the artifact is pinned to Unicode {version[:40]} and this build has {UNICODE_VERSION}; import it again",
            field=f"{MANIFEST}.unicode_version",
        )
    contents = _read_files(Fields(fields.take("files", dict), f"{MANIFEST}.files"), directory)
    parts = _parse(contents)
    name = files.check_name(fields.take("name", str))
    parts = dataclasses.replace(parts, name=name, provenance=fields.take("provenance", dict))
    _check_derived(manifest, _manifest(parts, name, manifest["files"]))
    if pair_table.NAME in contents:
        pair_table.check(parts, contents[pair_table.NAME])
    return parts


def _parse(contents: Mapping[str, bytes]) -> TokenizerParts:
    if (model := contents.get(sentencepiece.MODEL)) is not None:
        return sentencepiece.parse(model, contents)
    return hf_json.parse(contents["tokenizer.json"], contents)


def _read_file(name: str, directory: int) -> bytes:
    return files.read(Path(name), directory=directory, follow_links=False)


def _pinned(expected: Fields, directory: int) -> dict[str, str]:
    """Return the hash of every file that the manifest lists; any other that a program would read is refused."""
    hashes = {file: expected.take(file, str) for file in FILES if expected.has(file)}
    expected.finish()
    if sum(file in hashes for file in TOKENIZERS) != 1:
        raise InvalidArtifact(f"the manifest does not list one of {' and '.join(TOKENIZERS)}", field=expected.path)
    present = set(os.listdir(directory))
    for file in (*FILES, *_UNPINNED):
        if file in present and file not in hashes:
            raise InvalidArtifact(f"{file} is in the directory, but the manifest does not pin it", field=file)
    for file, hash in hashes.items():
        if not files.is_hash(hash):
            raise InvalidArtifact("a hash is sha256: and 64 hexadecimal digits", field=expected.at(file))
    return hashes


def _read_files(expected: Fields, directory: int) -> dict[str, bytes]:
    """Read and verify every file that the manifest lists."""
    contents = {}
    for file, hash in _pinned(expected, directory).items():
        contents[file] = _read_file(file, directory)
        found = files.sha256(contents[file])
        if found != hash:
            raise HashMismatch(
                f"{file} is not the file that the manifest pins: expected {hash}, found {found}",
                field=file,
                expected=hash,
                found=found,
            )
    return contents


def rehash(path: Path) -> tuple[str, dict[str, str], dict[str, str]]:
    """Return what the manifest at ``path`` pins, the tokenizer's hash and that of every file, and what those have now.

    Raises:
        ArtifactNotFound: there is no such directory, or a file of it is missing.
        InvalidArtifact
    """
    directory = _open(path)
    try:
        fields = Fields(files.parse_json(_read_file(MANIFEST, directory), MANIFEST), MANIFEST)
        pinned = _pinned(Fields(fields.take("files", dict), f"{MANIFEST}.files"), directory)
        found = {file: files.sha256(_read_file(file, directory)) for file in pinned}
        return fields.take("hash", str), pinned, found
    finally:
        os.close(directory)


def _check_derived(manifest: Mapping[str, Any], derived: Mapping[str, Any]) -> None:
    """Check the manifest against what the files say."""
    if manifest.get("hash") != derived["hash"]:
        expected, found = str(manifest.get("hash"))[:80], derived["hash"]
        raise HashMismatch(
            f"the tokenizer is not the one that the manifest pins: expected {expected}, found {found}",
            field="hash",
            expected=expected,
            found=found,
        )
    for key in sorted(manifest.keys() | derived.keys()):
        if key not in derived:
            raise Unsupported(f"{MANIFEST} has the unknown key {key[:80]!r}", field=f"{MANIFEST}.{key[:80]}")
        if key == "lossless" and key not in manifest:
            continue  # Manifests did not say it once.
        if key not in manifest or not files.same_json(manifest[key], derived[key]):
            raise InvalidArtifact(
                f"{key} in the manifest contradicts the files; write the artifact again", field=f"{MANIFEST}.{key}"
            )


def _manifest(parts: TokenizerParts, name: str, hashes: Mapping[str, str]) -> dict[str, Any]:
    config, settings = parts.config, parts.settings
    highest = max((token.id for token in config.added_tokens), default=-1)
    return {
        "schema": SCHEMA,
        "name": name,
        "hash": tokenizer_hash(parts),
        "files": dict(hashes),
        "vocab_size": max(parts.vocabulary.id_limit, highest + 1),
        "special_tokens": {token.content: token.id for token in config.added_tokens if token.special},
        "pattern": _pattern(config),
        "lossless": config.lossless,
        "unicode_version": UNICODE_VERSION,
        "template_hash": template_hash(settings),
        "padding_side": settings.padding_side,
        "truncation_side": settings.truncation_side,
        "provenance": dict(parts.provenance),
    }


def _pattern(config: PipelineConfig) -> str | list[str] | None:
    def name(stage: Pretokenizer) -> str:
        return str(stage.pattern.text if stage.type == "split" else stage.type)

    texts = [name(stage) for stage in config.pretokenizer]
    return texts if len(texts) > 1 else next(iter(texts), None)


def _check_replaced(path: Path) -> None:
    """Refuse to replace what is not an artifact, and what would take files of somebody else with it."""
    try:
        manifest = files.parse_json(files.read(path / MANIFEST, follow_links=False), MANIFEST)
    except (ArtifactNotFound, InvalidArtifact):
        manifest = None
    if not (isinstance(manifest, dict) and {"schema", "hash", "files"} <= manifest.keys()):
        raise InvalidArtifact(
            f"{path} is there and is not an artifact; remove it or choose another place", field=path.name
        )
    if others := sorted({file.name for file in path.iterdir()} - {MANIFEST, *FILES}):
        raise InvalidArtifact(
            f"{path} holds an artifact and {others[0]!r}, which would be lost; move it or choose another place",
            field=path.name,
        )
