"""SentencePiece's BPE: neighbours that are a piece together are joined, and unused pieces are taken apart again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence


def score_bpe(
    symbols: Sequence[str], scores: Mapping[str, float], user_defined: Collection[str], unused: Collection[str]
) -> list[str]:
    """Join the symbols of a whole text, the highest score first, and the leftmost of equals.

    An unused piece becomes the two that were joined to it. Where it can be joined of several pairs, the one counts that
    came into sight last, in the whole text, whether or not it was joined.

    Args:
        symbols: characters and user-defined symbols.
        scores: of the pieces that can be joined.
        user_defined: what is never joined to others.
        unused: pieces that are taken apart.
    """
    texts, parts = list(symbols), dict[str, tuple[str, str]]()

    def score(at: int) -> float | None:
        pair = texts[at], texts[at + 1]
        return None if {*pair} & {*user_defined} else scores.get("".join(pair))

    def sight(at: int) -> None:
        if 0 <= at < len(texts) - 1 and score(at) is not None:
            parts["".join(texts[at : at + 2])] = texts[at], texts[at + 1]

    for at in range(len(texts)):
        sight(at)
    while known := [(-found, at) for at in range(len(texts) - 1) if (found := score(at)) is not None]:
        _, at = min(known)
        texts[at : at + 2] = ["".join(texts[at : at + 2])]
        sight(at - 1)
        sight(at)
    left, kept = texts[::-1], list[str]()
    while left:
        text = left.pop()
        if text in unused and text in parts:
            left += reversed(parts[text])
        else:
            kept.append(text)
    return kept
