"""Try every special token alone and name the failures with their problem: shared by points 2 and 5."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tokenizer_core.checking.report import MAX_EXAMPLES, Finding, excerpt, failed, not_applicable, passed
from tokenizer_core.tokenizer import Tokenizer


def every_special(
    tokenizer: Tokenizer, problem_of: Callable[[Tokenizer, str, int], str | None], *, wrong: str, right: str
) -> Finding:
    """Try every special token.

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


def protocol_ids(tokenizer: Tokenizer) -> set[int]:
    """Return the ids of special tokens but the unknown one, which is what a model makes of text it does not know."""
    return set(tokenizer.special_tokens.values()) - {getattr(tokenizer.config.model, "unk", None)}
