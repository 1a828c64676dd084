"""Read and write tiktoken's rank files: one ``base64 rank`` a line."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path

from tokenizer_core._kernel import Vocabulary
from tokenizer_core.arguments import path_of
from tokenizer_core.config import PipelineConfig, TokenizerParts
from tokenizer_core.errors import InvalidArtifact, Unsupported
from tokenizer_core.formats import files
from tokenizer_core.formats.added import reserve, special
from tokenizer_core.stages import Pretokenizer


def read(path: str | Path, *, pattern: str, special_tokens: Mapping[str, int] | None = None) -> TokenizerParts:
    """Read a rank file.

    Args:
        pattern: the name of a known pattern, or a regular expression; a rank file does not hold it.
        special_tokens: literals and their ids, which a rank file does not hold either.

    Raises:
        ArtifactNotFound, InvalidArtifact: with the line.
        InvalidOption: with the argument that is of another type.
    """
    path = path_of(path)
    data = files.read(path)
    added = special(special_tokens)
    vocabulary = reserve(Vocabulary.from_tiktoken(data), added)
    config = PipelineConfig(pretokenizer=(Pretokenizer.into_matches(pattern),), ignore_merges=True, added_tokens=added)
    provenance = files.origin("tiktoken", {path.name: data}, pattern=pattern)
    return TokenizerParts(vocabulary, config, name=files.name_of_file(path), provenance=provenance)


def render(parts: TokenizerParts) -> bytes:
    """Write the rank file.

    Raises:
        Unsupported: tiktoken, which merges by the order of ids and takes whole pieces, would give other ids.
    """
    data = rank_lines(parts.vocabulary)
    if missing := parts.vocabulary.missing_bytes:
        raise Unsupported(
            f"a rank file has a token for every byte, and this vocabulary has none for 0x{missing[0]:02X}; export to "
            "the Hugging Face layout",
            field="vocab",
        )
    if recovered(parts.vocabulary) is None:
        raise Unsupported(
            "ranks are ids in a rank file, and the merges of this tokenizer are not in the order of their ids; export "
            "to the Hugging Face layout",
            field="merges",
        )
    if not (parts.config.ignore_merges or every_token_is_reached(parts.vocabulary)):
        raise Unsupported(
            "a rank file always takes whole pieces, and some tokens of this tokenizer are never reached by merges; "
            "export to the Hugging Face layout",
            field="ignore_merges",
        )
    return data


def rank_lines(vocabulary: Vocabulary) -> bytes:
    """Write one line a token, in the order of ids."""
    lines = []
    for id in range(vocabulary.id_limit):
        token = vocabulary.token_bytes(id)
        if token is None:
            continue
        if vocabulary.is_opaque(id):
            raise Unsupported(
                f"the entry with id {id} is not a byte string, and rank files have no other", field="vocab"
            )
        # The way in which Whisper's file writes the empty token.
        lines.append(b"%s %d\n" % (base64.b64encode(token) or b"=", id))
    return b"".join(lines)


def recovered(vocabulary: Vocabulary) -> list[tuple[int, int, int]] | None:
    """Return the merges that tiktoken would make, or ``None`` when the vocabulary's own merges differ from them.

    A vocabulary may have more merges than these, as Llama 3's has: of all pairs that join to a token only one can ever
    come up. So it is enough that the others stand at the rank of the same product.
    """
    try:
        needed = Vocabulary.from_tiktoken(rank_lines(vocabulary)).merge_ids()
    except InvalidArtifact:
        return None
    merges = vocabulary.merge_ids()
    products = [product for _, _, product in merges]
    if products != sorted(products) or not set(needed) <= set(merges):
        return None
    return needed


def every_token_is_reached(vocabulary: Vocabulary) -> bool:
    """Tell whether every token's own bytes merge to it, so that taking whole pieces changes no id."""
    merges = recovered(vocabulary)
    if merges is None:
        return False
    products = {product for _, _, product in merges}
    tokens = ((id, vocabulary.token_bytes(id)) for id in range(vocabulary.id_limit))
    return all(id in products for id, token in tokens if token is not None and len(token) > 1)
