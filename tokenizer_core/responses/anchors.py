"""Where the text of a turn begins, in turns and in generation prompts."""

from __future__ import annotations

import re

from tokenizer_core.responses.probes import Turn, shared_end, shared_start, tokens

MARK = re.compile(r"<[^<>]*>|\[/?[A-Z_]+\]")
"""A literal that looks like a control token."""


class Anchors:
    """What every turn and every generation prompt has before what the model writes.

    Attributes:
        literals: one for all histories, or some.
    """

    def __init__(self, turns: list[Turn]) -> None:
        texts = [(turn.history, text) for turn in turns for text in (turn.prompt, _head(turn))]
        first = turns[0]
        base = first.prompt
        for history, text in texts:
            # An option may write something before the turn begins, such as "/nothink".
            if history == first.history and (shared := shared_start(base, text)).strip():
                base = shared
        if first.prompt.rfind(base) > 0:
            base = shared_end(first.prompt, _head(first))
        self.literals = _in_all(base, [text for _, text in texts])
        for at in sorted({history for history, _ in texts}) if not self.literals else ():
            own = [text for history, text in texts if history == at]
            self.literals += _in_all(base if at == first.history else _last_mark(shared_start(*own)), own)

    def go_back(self) -> None:
        """Leave the last mark to what follows."""
        self.literals = [each.removesuffix(_last_mark(each)) or each for each in self.literals]

    def leave_out(self, ends: set[str]) -> None:
        """Begin anchors behind what ends the message before."""
        for end in sorted(ends, key=len, reverse=True):
            self.literals = ["".join(_in_all(each.removeprefix(end), [each])) or each for each in self.literals]

    def rest(self, turn: Turn) -> int:
        """Return where a turn goes on behind its anchor; 0 if it has none."""
        anchor = max(self.literals, key=turn.prompt.rfind, default="")
        at = _head(turn).find(anchor)
        return at + len(anchor) if at >= 0 else 0


def _head(turn: Turn) -> str:
    return turn.text[: turn.slots[0].start]


def _last_mark(text: str) -> str:
    """Return the last mark of a text with what follows it."""
    marks = list(MARK.finditer(text))
    return text[marks[-1].start() :] if marks else text


def _in_all(text: str, others: list[str]) -> list[str]:
    """Return the longest end of a text that has a mark or a word and stands in all others."""
    split = tokens(text)
    ends = ("".join(split[at:]) for at in range(len(split)))
    kept = (end for end in ends if MARK.search(end) or re.search(r"\w|>>", end))
    return next(([end] for end in kept if all(end in other for other in others)), [])
