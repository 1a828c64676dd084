"""Point 1: decoding returns the encoded text."""

from __future__ import annotations

import dataclasses
import unicodedata
from typing import Any

from tokenizer_core.checking.report import MAX_EXAMPLES, Finding, excerpt, failed, not_applicable, passed
from tokenizer_core.checking.texts import covered, every_character, hard, prose
from tokenizer_core.stages import Normalizer
from tokenizer_core.tokenizer import Tokenizer

_EQUIVALENT = (Normalizer("nfc"), Normalizer("nfd"))
"""Normalizers that change a text into one that means the same."""

CONTEXT = 24
"""Characters shown around the first difference."""


def round_trip(tokenizer: Tokenizer) -> Finding:
    """Decode what was encoded, for text that is hard and for every character.

    Characters that need a byte without a token are left out, and these bytes named.

    A tokenizer that normalizes may return a canonically equivalent text (``é`` for ``e`` and an accent), nothing else;
    one that drops or rewrites text promises nothing.
    """
    others = tuple(stage for stage in tokenizer.config.normalizer if stage not in _EQUIVALENT)
    if not dataclasses.replace(tokenizer.config, normalizer=others).lossless:
        return not_applicable("the pipeline drops or rewrites text, as its manifest says (lossless: false)")
    texts = {**hard(tokenizer), **prose(tokenizer), "every character": covered(every_character(), tokenizer)}
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
    numbers: dict[str, Any] = {"texts": len(texts), "characters": sum(map(len, texts.values()))}
    lacks = ""
    if missing := tokenizer.parts.vocabulary.missing_bytes:
        numbers["missing_bytes"] = [f"0x{byte:02X}" for byte in missing]
        lacks = f"; no token for {len(missing)} bytes, such as 0x{missing[-1]:02X}: a text that needs one is refused"
    if broken:
        return failed(
            f"{len(broken)} of {len(texts)} texts come back changed, first: {broken[0]['text']}",
            **numbers,
            changed=broken[:MAX_EXAMPLES],
        )
    if equivalent:
        return passed(
            f"{len(texts)} texts come back, {len(equivalent)} of them in a canonically equivalent form{lacks}",
            **numbers,
            equivalent=equivalent,
        )
    return passed(f"{len(texts)} texts with {numbers['characters']:,} characters come back unchanged{lacks}", **numbers)


def _canonical(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _first_difference(text: str, back: str) -> dict[str, Any]:
    at = next((i for i, (a, b) in enumerate(zip(text, back, strict=False)) if a != b), min(len(text), len(back)))
    window = slice(max(0, at - CONTEXT), at + CONTEXT)
    return {"at_char": at, "expected": excerpt(text[window]), "found": excerpt(back[window])}
