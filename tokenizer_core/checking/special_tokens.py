"""Points 2 and 5: each special token is one id as protocol, and its literal in a text is what the caller says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tokenizer_core.checking.report import MAX_EXAMPLES, Finding, excerpt, failed, not_applicable, passed
from tokenizer_core.errors import ReservedLiteral
from tokenizer_core.tokenizer import Tokenizer

_BEFORE, _AFTER = "naïve 你好 👍 ", " and more"
"""Spaces on both sides, since a token may be bound to stand alone; wide characters, so that units show."""


def atomic_specials(tokenizer: Tokenizer) -> Finding:
    """Point 2: encode every special token's literal both ways and decode its id."""
    return _every_special(
        tokenizer,
        _not_atomic,
        wrong="special tokens are not atomic",
        right="special tokens is its one id as protocol and never an id of protocol as text",
    )


def reserved_literals(tokenizer: Tokenizer) -> Finding:
    """Point 5: put every special token's literal into a text and try the three policies."""
    return _every_special(
        tokenizer,
        _breaks_policy,
        wrong="literals break the policy",
        right="literals is refused by default, text under text and its id under parse",
    )


def _every_special(
    tokenizer: Tokenizer, problem_of: Callable[[Tokenizer, str, int], str | None], *, wrong: str, right: str
) -> Finding:
    """Try every special token alone and name the failures with their problem.

    Args:
        problem_of: says what is wrong with a literal and its id, or ``None``.
        wrong, right: end the summary behind a number of tokens.
    """
    specials = tokenizer.special_tokens
    if not specials:
        return not_applicable("the tokenizer has no special tokens")
    broken: list[dict[str, Any]] = []
    for literal, id in specials.items():
        problem = problem_of(tokenizer, literal, id)
        if problem:
            broken.append({"literal": excerpt(literal), "id": id, "problem": problem})
    if broken:
        return failed(
            f"{len(broken)} of {len(specials)} {wrong}, first: {broken[0]['literal']} {broken[0]['problem']}",
            special_tokens=len(specials),
            broken=broken[:MAX_EXAMPLES],
        )
    return passed(f"each of {len(specials)} {right}", special_tokens=len(specials))


def _not_atomic(tokenizer: Tokenizer, literal: str, id: int) -> str | None:
    parsed = tokenizer.encode(literal, special_tokens="parse").tolist()
    if parsed != [id]:
        return f"is encoded to {excerpt(str(parsed))} under parse"
    as_text = tokenizer.encode(literal, special_tokens="text").tolist()
    if _protocol_ids(tokenizer).intersection(as_text):
        return f"is encoded to {excerpt(str(as_text))} under text"
    if tokenizer.decode([id]) != literal:
        return f"is decoded to {excerpt(repr(tokenizer.decode([id])))}"
    if tokenizer.decode([id], skip_special_tokens=True) != "":
        return "is not hidden by skip_special_tokens"
    return None


def _breaks_policy(tokenizer: Tokenizer, literal: str, id: int) -> str | None:
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
    if _protocol_ids(tokenizer).intersection(as_text):
        return "becomes a control token under text"
    parsed = tokenizer.encode(text, special_tokens="parse").tolist()
    if parsed.count(id) != 1 and (id in _protocol_ids(tokenizer) or id not in parsed):
        return f"becomes its id {parsed.count(id)} times under parse"
    return None


def _protocol_ids(tokenizer: Tokenizer) -> set[int]:
    """Return the ids of special tokens but the unknown one, which is what a model makes of text it does not know."""
    return set(tokenizer.special_tokens.values()) - {getattr(tokenizer.config.model, "unk", None)}
