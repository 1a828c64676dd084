"""Read and write GPT-2's layout: ``vocab.json`` and ``merges.txt``."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path

from tokenizer_core._kernel import Vocabulary
from tokenizer_core.arguments import path_of
from tokenizer_core.config import AddedToken, PipelineConfig, TokenizerParts
from tokenizer_core.errors import Unsupported
from tokenizer_core.formats import files
from tokenizer_core.formats.added import reserve, special
from tokenizer_core.formats.tiktoken import every_token_is_reached
from tokenizer_core.stages import Pretokenizer


def read(
    vocab: str | Path,
    merges: str | Path,
    *,
    pattern: str = "gpt2",
    special_tokens: Mapping[str, int] | None = None,
) -> TokenizerParts:
    """Read both files.

    Args:
        pattern: the name of a known pattern, or a regular expression.
        special_tokens: literals and their ids, in the vocabulary or beyond it.

    Raises:
        ArtifactNotFound, InvalidArtifact: with the file and the entry or line.
        InvalidOption: with the argument that is of another type.
    """
    paths = [path_of(vocab, "vocab"), path_of(merges, "merges")]
    data = [files.read(path) for path in paths]
    parts = parse(*data, pattern=pattern, added=special(special_tokens))
    found = dict(zip(("vocab.json", "merges.txt"), data, strict=True))
    provenance = files.origin("vocab_merges", found, pattern=pattern)
    return dataclasses.replace(parts, name=files.name_of_file(paths[0]), provenance=provenance)


def parse(vocab: bytes, merges: bytes, *, pattern: str, added: tuple[AddedToken, ...]) -> TokenizerParts:
    """Read the bytes of both files."""
    vocabulary = reserve(Vocabulary.from_vocab_merges(vocab, merges), added)
    config = PipelineConfig(pretokenizer=(Pretokenizer.into_matches(pattern),), added_tokens=added)
    return TokenizerParts(vocabulary, config)


def render(parts: TokenizerParts) -> tuple[bytes, bytes]:
    """Write the bytes of ``vocab.json`` and ``merges.txt``; added tokens stand among the entries, as in GPT-2's own.

    The layout says nothing of the pattern, the normalizer or the frame: whoever reads it must know them.

    Raises:
        Unsupported: whole pieces are taken, and that matters; or a merge cannot be written as a line.
    """
    if parts.config.ignore_merges and not every_token_is_reached(parts.vocabulary):
        raise Unsupported(
            "merges.txt cannot say that whole pieces are taken, and some tokens are never reached by merges; export to "
            "the Hugging Face layout",
            field="ignore_merges",
        )
    entries = dict(parts.vocabulary.token_texts())
    entries |= {token.content: token.id for token in parts.config.added_tokens}
    names = {id: entry for entry, id in entries.items()}
    lines = ["#version: 0.2\n"]
    for rank, (left, right, _) in enumerate(parts.vocabulary.merge_ids()):
        if any(parts.vocabulary.is_opaque(id) for id in (left, right)):
            raise Unsupported(f"merge {rank} has a part outside the byte alphabet", field=f"merges[{rank}]")
        lines.append(merge_line(rank, names[left], names[right]))
    ordered = dict(sorted(entries.items(), key=lambda item: item[1]))
    vocab = json.dumps(ordered, ensure_ascii=False, separators=(",", ":"))
    return vocab.encode() + b"\n", "".join(lines).encode()


def merge_line(rank: int, left: str, right: str) -> str:
    """Write one merge.

    Raises:
        Unsupported: readers would take the line for another, or for none.
    """
    field = f"merges[{rank}]"
    if (left + right).split() != [left + right]:
        raise Unsupported(f"merge {rank} has white space in a part, which ends it in merges.txt", field=field)
    if left.startswith("#version"):
        raise Unsupported(f"merge {rank} begins with #version: readers of merges.txt skip that line", field=field)
    return f"{left} {right}\n"
