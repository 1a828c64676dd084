"""Point 1: decoding returns the encoded text."""

from __future__ import annotations

import unicodedata
from typing import Any

from tokenizer_core.checking.report import MAX_EXAMPLES, Finding, excerpt, failed, passed
from tokenizer_core.checking.texts import HARD, PROSE, every_character
from tokenizer_core.tokenizer import Tokenizer

CONTEXT = 24
"""Characters shown around the first difference."""


def round_trip(tokenizer: Tokenizer) -> Finding:
    """Decode what was encoded, for text that is hard and for every character.

    A tokenizer that normalizes may return a canonically equivalent text (``é`` for ``e`` and an accent), nothing else.
    """
    texts = {**HARD, **PROSE, "every character": every_character()}
    equivalent: list[str] = []
    broken: list[dict[str, Any]] = []
    for name, text in texts.items():
        back = tokenizer.decode(tokenizer.encode(text, special_tokens="text"))
        if back == text:
            continue
        if _canonical(back) == _canonical(text):
            equivalent.append(name)
        else:
            broken.append({"text": name, **_first_difference(text, back)})
    numbers = {"texts": len(texts), "characters": sum(map(len, texts.values()))}
    if broken:
        return failed(
            f"{len(broken)} of {len(texts)} texts come back changed, first: {broken[0]['text']}",
            **numbers,
            changed=broken[:MAX_EXAMPLES],
        )
    if equivalent:
        return passed(
            f"{len(texts)} texts come back, {len(equivalent)} of them in a canonically equivalent form",
            **numbers,
            equivalent=equivalent,
        )
    return passed(f"{len(texts)} texts with {numbers['characters']:,} characters come back unchanged", **numbers)


def _canonical(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _first_difference(text: str, back: str) -> dict[str, Any]:
    at = next((i for i, (a, b) in enumerate(zip(text, back, strict=False)) if a != b), min(len(text), len(back)))
    window = slice(max(0, at - CONTEXT), at + CONTEXT)
    return {"at_char": at, "expected": excerpt(text[window]), "found": excerpt(back[window])}
