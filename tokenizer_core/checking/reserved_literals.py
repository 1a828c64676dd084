"""Point 5: a control literal in somebody's text is refused, text or protocol, as the caller said."""

from __future__ import annotations

from typing import Any

from tokenizer_core.checking.report import MAX_EXAMPLES, Finding, excerpt, failed, not_applicable, passed
from tokenizer_core.errors import ReservedLiteral
from tokenizer_core.tokenizer import Tokenizer

_BEFORE, _AFTER = "naïve 你好 👍 ", " and more"
"""Spaces on both sides, since a token may be bound to stand alone; wide characters, so that units show."""


def reserved_literals(tokenizer: Tokenizer) -> Finding:
    """Put every special token's literal into a text and try the three policies."""
    specials = tokenizer.special_tokens
    if not specials:
        return not_applicable("the tokenizer has no special tokens")
    broken: list[dict[str, Any]] = []
    for literal, id_ in specials.items():
        problem = _problem(tokenizer, literal, id_)
        if problem:
            broken.append({"literal": excerpt(literal), "id": id_, "problem": problem})
    if broken:
        return failed(
            f"{len(broken)} of {len(specials)} literals break the policy, first: {broken[0]['literal']} "
            f"{broken[0]['problem']}",
            special_tokens=len(specials),
            broken=broken[:MAX_EXAMPLES],
        )
    return passed(
        f"each of {len(specials)} literals is refused by default, text under text and its id under parse",
        special_tokens=len(specials),
    )


def _problem(tokenizer: Tokenizer, literal: str, id_: int) -> str | None:
    text = f"{_BEFORE}{literal}{_AFTER}"
    try:
        tokenizer.encode(text)
    except ReservedLiteral as error:
        span = error.place.get("span")
        if span is not None and literal.strip() not in text[span[0] : span[1]]:
            return f"is refused with the span {span}, which does not hold it"
    else:
        return "is not refused by default"
    as_text = tokenizer.encode(text, special_tokens="text").tolist()
    if set(tokenizer.special_tokens.values()).intersection(as_text):
        return "becomes a control token under text"
    parsed = tokenizer.encode(text, special_tokens="parse").tolist()
    if parsed.count(id_) != 1:
        return f"becomes its id {parsed.count(id_)} times under parse"
    return None
