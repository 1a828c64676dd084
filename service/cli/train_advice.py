"""What to do about a trained tokenizer, in words, where its report shows what training can mend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

BYTES_A_TOKEN = 1.5
"""Below, nearly every byte of a text is a token of its own: merges know nothing of the language."""

UNKNOWN = 0.01
"""The share of a text's characters that may become the unknown token."""

RARE = 50
"""A token whose pair occurs less often in the corpus is seen too rarely by a model to be learned well."""

LONG = 24
"""Tokens of so many characters and more are mostly of text that comes again and again."""

SHOWN = 3


def advice(document: Mapping[str, Any]) -> list[str]:
    """Return a sentence or two for each thing to do; none where nothing is wrong."""
    return [*_languages(document["fertility"]), *_size(document), *_repeated(document["longest_tokens"])]


def _languages(fertility: Mapping[str, Mapping[str, Any] | None]) -> Iterator[str]:
    known = {name: one for name, one in fertility.items() if one is not None and one["tokens"]}
    missing = [name for name, one in fertility.items() if one is None]
    unknown = [name for name, one in known.items() if one["unknown"] >= UNKNOWN]
    lost = missing + unknown
    if lost:
        yield (
            f"The tokenizer has no tokens for a part of these texts: {_listed(lost)}. Add text in these languages to "
            "the corpus, or train a model that falls back to bytes."
        )
    bytes_ = {name: one["bytes"] / one["tokens"] for name, one in known.items() if name not in unknown}
    poor = [name for name, size in bytes_.items() if size < BYTES_A_TOKEN]
    if poor:
        worst = min(poor, key=lambda name: bytes_[name])
        yield (
            f"The corpus lacks {_listed(poor)}: there a token stands for {bytes_[worst]:.2f} bytes or little more, the "
            f"best text here has {max(bytes_.values()):.2f}. Add text in these languages if the model is to read them; "
            "if not, nothing needs to be done."
        )


def _size(document: Mapping[str, Any]) -> Iterator[str]:
    size, wanted = document["vocab_size"], document["asked_for"]
    frequencies: Sequence[Sequence[int]] = document["frequencies"]
    if size < wanted:
        yield (
            f"The vocabulary is too large for the corpus: after {size:,} tokens no pair is left of {wanted:,} asked "
            f"for. Give more text, or ask for {size:,} or less."
        )
    elif frequencies and frequencies[-1][1] < RARE:
        # The merges are a sample of all, closer together at the beginning.
        often = max((merge for merge, count in frequencies if count >= RARE), default=0)
        merges = frequencies[-1][0]
        yield (
            f"The vocabulary is large for the corpus: the pair of the last merge occurs {frequencies[-1][1]:,} times. "
            f"A model learns little about a token that it sees less than about {RARE} times, and only about {often:,} "
            f"of {merges:,} merges have pairs that occur so often. Give more text, or ask for about "
            f"{size - (merges - often):,} tokens."
        )


def _repeated(longest: Sequence[str]) -> Iterator[str]:
    long = list(dict.fromkeys(repr(token[:LONG]) for token in longest if len(token) >= LONG))
    if long:
        shown = ", ".join(long[:SHOWN])
        yield (
            f"Some tokens are very long, such as those that begin with {shown}: text that comes again and again. Leave "
            "it out of the corpus, or set --max-token-length."
        )


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
