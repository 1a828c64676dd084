"""From the texts of tokens to text: each stage makes of a list of texts another one, and the last is joined."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_CLEANED = (
    (" .", "."),
    (" ?", "?"),
    (" !", "!"),
    (" ,", ","),
    (" ' ", "'"),
    (" n't", "n't"),
    (" 'm", "'m"),
    (" do not", " don't"),
    (" 's", "'s"),
    (" 've", "'ve"),
    (" 're", "'re"),
)


def decode(stages: Iterable[Mapping[str, Any]], tokens: Sequence[str]) -> str:
    """Run the stages in order.

    Raises:
        ValueError: a stage is not known here.
    """
    texts = list(tokens)
    for stage in stages:
        texts = _run(stage, texts)
    return "".join(texts)


def _run(stage: Mapping[str, Any], tokens: list[str]) -> list[str]:
    kind = stage["type"]
    if kind == "spaced":
        return [f" {token}" if index else token for index, token in enumerate(tokens)]
    if kind == "word_piece":
        prefix = stage["prefix"]
        others = (token.removeprefix(prefix) if token.startswith(prefix) else f" {token}" for token in tokens[1:])
        return [clean(token) if stage["cleanup"] else token for token in [*tokens[:1], *others]]
    raise ValueError(f"unknown decoder stage {kind!r}")


def clean(token: str) -> str:
    """Take away spaces before punctuation and in contractions."""
    for found, instead in _CLEANED:
        token = token.replace(found, instead)
    return token
