"""System messages after the first: kept where a template writes them, else added to the first, as in vLLM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from service.routes.compat.turns import Turn
from service.schemas.fields import Object

_ROLES = ("system", "developer")


def folded(turns: Sequence[Turn], writes: Callable[[Sequence[Object]], bool]) -> list[Turn]:
    """Return turns of which a template writes every system message.

    Many templates refuse a second one, and some leave it out without a word.

    Args:
        writes: whether the template takes some messages and writes each.
    """
    leading = turns[0] if turns and turns[0].role in _ROLES else None
    kept: list[Turn] = []
    moved: list[Turn] = []
    verdicts: dict[tuple[str, str], bool] = {}
    for turn in turns:
        if turn is leading or turn.role not in _ROLES:
            kept.append(turn)
            continue
        shape = turn.role, next((each.role for each in reversed(kept) if each.role not in _ROLES), "")
        if shape not in verdicts:
            verdicts[shape] = writes(_example(leading, *shape))
        (kept if verdicts[shape] else moved).append(turn)
    if not moved:
        return kept
    texts = [text for turn in moved for text in turn.texts]
    if leading is None:
        return [replace(moved[0], texts=texts, joint="\n" if moved[0].joint is None else moved[0].joint), *kept]
    # One text: a template may read only the first part of a system message.
    joint = "\n" if leading.joint is None else leading.joint
    return [replace(leading, texts=[*leading.texts, *texts], joint=joint), *kept[1:]]


def _example(leading: Turn | None, role: str, before: str) -> list[Object]:
    """Return the smallest chat with a message of ``role`` behind one of the role ``before``, if there is any.

    vLLM asks once, for one behind a user's; templates that want turns to alternate take it there and nowhere else.
    """
    roles = [] if leading is None else [leading.role]
    roles += {"": [], "user": ["user"]}.get(before, ["user", "assistant"])
    return [{"role": each, "content": f"probe {at}"} for at, each in enumerate((*roles, role, "user"))]
