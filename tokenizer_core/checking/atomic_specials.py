"""Point 2: a special token is one id as protocol, and never that id as text."""

from __future__ import annotations

from tokenizer_core.checking.every_special import every_special, protocol_ids
from tokenizer_core.checking.report import Finding, excerpt
from tokenizer_core.tokenizer import Tokenizer


def atomic_specials(tokenizer: Tokenizer) -> Finding:
    """Encode every special token's literal both ways and decode its id."""
    return every_special(
        tokenizer,
        _problem,
        wrong="special tokens are not atomic",
        right="special tokens is its one id as protocol and never an id of protocol as text",
    )


def _problem(tokenizer: Tokenizer, literal: str, id: int) -> str | None:
    parsed = tokenizer.encode(literal, special_tokens="parse").tolist()
    if parsed != [id]:
        return f"is encoded to {excerpt(str(parsed))} under parse"
    as_text = tokenizer.encode(literal, special_tokens="text").tolist()
    if protocol_ids(tokenizer).intersection(as_text):
        return f"is encoded to {excerpt(str(as_text))} under text"
    if tokenizer.decode([id]) != literal:
        return f"is decoded to {excerpt(repr(tokenizer.decode([id])))}"
    if tokenizer.decode([id], skip_special_tokens=True) != "":
        return "is not hidden by skip_special_tokens"
    return None
