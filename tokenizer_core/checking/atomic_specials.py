"""Point 2: a special token is one id as protocol, and never that id as text."""

from __future__ import annotations

from typing import Any

from tokenizer_core.checking.report import MAX_EXAMPLES, Finding, excerpt, failed, not_applicable, passed
from tokenizer_core.tokenizer import Tokenizer


def atomic_specials(tokenizer: Tokenizer) -> Finding:
    """Encode every special token's literal both ways and decode its id."""
    specials = tokenizer.special_tokens
    if not specials:
        return not_applicable("the tokenizer has no special tokens")
    ids = set(specials.values())
    broken: list[dict[str, Any]] = []
    for literal, id_ in specials.items():
        problem = _problem(tokenizer, literal, id_, ids)
        if problem:
            broken.append({"literal": excerpt(literal), "id": id_, "problem": problem})
    if broken:
        return failed(
            f"{len(broken)} of {len(specials)} special tokens are not atomic, first: {broken[0]['literal']} "
            f"{broken[0]['problem']}",
            special_tokens=len(specials),
            broken=broken[:MAX_EXAMPLES],
        )
    return passed(
        f"each of {len(specials)} special tokens is its one id as protocol and never an id of protocol as text",
        special_tokens=len(specials),
    )


def _problem(tokenizer: Tokenizer, literal: str, id_: int, special_ids: set[int]) -> str | None:
    parsed = tokenizer.encode(literal, special_tokens="parse").tolist()
    if parsed != [id_]:
        return f"is encoded to {excerpt(str(parsed))} under parse"
    as_text = tokenizer.encode(literal, special_tokens="text").tolist()
    if special_ids.intersection(as_text):
        return f"is encoded to {excerpt(str(as_text))} under text"
    if tokenizer.decode([id_]) != literal:
        return f"is decoded to {excerpt(repr(tokenizer.decode([id_])))}"
    if tokenizer.decode([id_], skip_special_tokens=True) != "":
        return "is not hidden by skip_special_tokens"
    return None
