"""Point 3: tokens per text."""

from __future__ import annotations

from typing import Any

from tokenizer_core.checking.report import Finding, failed, passed
from tokenizer_core.checking.texts import prose
from tokenizer_core.token_counts import fertility as fertility_of
from tokenizer_core.tokenizer import Tokenizer

MIN_ENTRIES = 1_000
"""A vocabulary with this many entries beyond the bytes is meant to compress some of the four kinds of text. Its merges
would not tell: they may be what was lost."""

MAX_UNMADE = {False: 0.1, True: 0.5}
"""The share of these entries that no merge may make, by whether pieces that are entries are taken whole.

Without that such an entry comes out of no text, and Qwen2 has 0.2 % of them; with it, words may have been added that
need no merge. GPT-2, Llama 3, cl100k and o200k have none.
"""

MAX_BEST_PER_CHAR = 0.75
"""The least that such a vocabulary must reach on the kind that suits it best.

Merges that were lost on the way, or that the pattern never lets happen, give one token a character or more; real
vocabularies give 0.2 to 0.3 on English.
"""


def fertility(tokenizer: Tokenizer) -> Finding:
    """Count tokens per byte, character and word on English, Chinese, code and formulas.

    Words are those of Unicode's default boundaries (UAX 29), where an ideograph is a word of its own.
    """
    measures = {name: _measure(tokenizer, text) for name, text in prose(tokenizer).items()}
    summary = ", ".join(f"{name} {measure['per_word']:.2f}" for name, measure in measures.items())
    for name, measure in measures.items():
        if not 0 < measure["per_byte"] <= 1:
            return failed(
                f"{name} costs {measure['per_byte']:.2f} tokens a byte; it must be above 0 and at most 1",
                kinds=measures,
            )
    if not tokenizer.config.model.is_byte_bpe:
        # Nothing says how well another model must do: what it does not know is one token, however long.
        return passed(f"tokens a word: {summary}", kinds=measures)
    best = min(measure["per_char"] for measure in measures.values())
    vocabulary = tokenizer.parts.vocabulary
    entries = len(vocabulary) - 256
    unmade = entries - len({product for _, _, product in vocabulary.merge_ids()})
    if entries >= MIN_ENTRIES and unmade > MAX_UNMADE[tokenizer.config.ignore_merges] * entries:
        return failed(
            f"no merge makes {unmade:,} of the {entries:,} entries beyond the bytes; merges were lost on the way",
            kinds=measures,
        )
    if entries >= MIN_ENTRIES and best > MAX_BEST_PER_CHAR:
        return failed(
            f"no kind of text costs less than {best:.2f} tokens a character in spite of {entries:,} entries beyond "
            "the bytes; the merges or the pattern are not those of this vocabulary",
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
