"""Point 5: a control literal in a text is refused, text or protocol, by the caller's choice."""

from __future__ import annotations

from tokenizer_core.checking.every_special import every_special, protocol_ids
from tokenizer_core.checking.report import Finding
from tokenizer_core.errors import ReservedLiteral
from tokenizer_core.tokenizer import Tokenizer

_BEFORE, _AFTER = "naïve 你好 👍 ", " and more"
"""Spaces on both sides, since a token may be bound to stand alone; wide characters, so that units show."""


def reserved_literals(tokenizer: Tokenizer) -> Finding:
    """Put every special token's literal into a text and try the three policies."""
    return every_special(
        tokenizer,
        _problem,
        wrong="literals break the policy",
        right="literals is refused by default, text under text and its id under parse",
    )


def _problem(tokenizer: Tokenizer, literal: str, id: int) -> str | None:
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
    if protocol_ids(tokenizer).intersection(as_text):
        return "becomes a control token under text"
    parsed = tokenizer.encode(text, special_tokens="parse").tolist()
    if parsed.count(id) != 1 and (id in protocol_ids(tokenizer) or id not in parsed):
        return f"becomes its id {parsed.count(id)} times under parse"
    return None
