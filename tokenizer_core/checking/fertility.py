"""Point 3: how many tokens a text costs."""

from __future__ import annotations

from typing import Any

from tokenizer_core.checking.report import Finding, failed, passed
from tokenizer_core.checking.texts import PROSE
from tokenizer_core.costs import fertility as fertility_of
from tokenizer_core.tokenizer import Tokenizer

MIN_MERGES = 1_000
"""A vocabulary with this many merges is meant to compress some of the four kinds of text."""

MAX_BEST_PER_CHAR = 0.75
"""The least that such a vocabulary must reach on the kind that suits it best.

Merges that were lost on the way, or that the pattern never lets happen, give one token a character or more; real
vocabularies give 0.2 to 0.3 on English.
"""


def fertility(tokenizer: Tokenizer) -> Finding:
    """Count tokens per byte, character and word on English, Chinese, code and formulas.

    Words are those of Unicode's default boundaries (UAX 29), where an ideograph is a word of its own.
    """
    measures = {name: _measure(tokenizer, text) for name, text in PROSE.items()}
    summary = ", ".join(f"{name} {measure['per_word']:.2f}" for name, measure in measures.items())
    for name, measure in measures.items():
        if not 0 < measure["per_byte"] <= 1:
            return failed(
                f"{name} costs {measure['per_byte']:.2f} tokens a byte; it must be above 0 and at most 1",
                kinds=measures,
            )
    best = min(measure["per_char"] for measure in measures.values())
    merges = len(tokenizer.merges)
    if merges >= MIN_MERGES and best > MAX_BEST_PER_CHAR:
        return failed(
            f"no kind of text costs less than {best:.2f} tokens a character in spite of {merges:,} merges; "
            "the merges or the pattern are not those of this vocabulary",
            kinds=measures,
        )
    return passed(f"tokens a word: {summary}", kinds=measures)


def _measure(tokenizer: Tokenizer, text: str) -> dict[str, Any]:
    found = fertility_of(tokenizer, [text])
    return {
        "tokens": found.tokens,
        "per_byte": round(found.per_byte, 4),
        "per_char": round(found.per_character, 4),
        "per_word": round(found.per_word, 4),
    }
