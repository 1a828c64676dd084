"""The place of the reasoning in a turn: between two marks at the beginning of the text that the model has to write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from tokenizer_core.chat.rendered import Span

TrainedReasoning = Literal["all", "written", "none"]
"""The trained reasoning, with its marks: all, what somebody wrote (no empty marks of the template), or none."""

MARKS = (
    ("<think>", "</think>"),
    ("<seed:think>", "</seed:think>"),
    ("<mm:think>", "</mm:think>"),
    ("[THINK]", "[/THINK]"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel>thought", "<channel|>"),
    ("<|channel|>analysis<|message|>", "<|end|>"),
)
"""The marks round reasoning, of the models that have it. The opening mark may be a part of the prompt."""


def without_reasoning(
    text: str, turns: Sequence[tuple[int, int]], spans: Sequence[Span], kept: TrainedReasoning
) -> list[tuple[int, int]]:
    """Return turns without the reasoning at their beginning, and without the white space behind it.

    Args:
        spans: what of the text the caller wrote.
        kept: ``"written"`` leaves out reasoning without a character of the caller alone.
    """
    left = []
    for start, end in turns:
        found = _reasoning(text, start, end, spans)
        if found is not None:
            begin, inside, close, behind = found
            if kept == "none" or not (_is_written(spans, inside, close) and text[inside:close].strip()):
                left.append((start, begin))
                start = behind
        left.append((start, end))
    return [(start, end) for start, end in left if start < end]


def _is_written(spans: Sequence[Span], start: int, end: int) -> bool:
    """Tell whether the caller wrote any character between two places."""
    return any(span.start < end and span.end > start for span in spans)


def _reasoning(text: str, start: int, end: int, spans: Sequence[Span]) -> tuple[int, int, int, int] | None:
    """Return where reasoning begins with its mark and behind it, where it ends, and where the turn goes on.

    Before it stands nothing but the template's text, or it is no reasoning but a word of the answer.
    """
    for opening, closing in MARKS:
        opened, closed = text.find(opening, start, end), text.find(closing, max(0, start - len(closing) + 1), end)
        if text[max(0, start - len(opening) - 2) : start].rstrip().endswith(opening):
            begin = inside = start
        elif opened >= 0 and not _is_written(spans, start, opened) and not 0 <= closed < opened:
            begin, inside = opened, opened + len(opening)
            if text[start:begin].isspace():
                begin = start
        elif closed >= 0 and not _is_written(spans, start, closed):
            # The prompt has the opening mark, and may have the beginning of the closing one.
            begin = inside = max(start, closed)
        else:
            continue
        close = text.find(closing, inside if inside > start else closed, end)
        if close < 0:
            return begin, inside, end, end
        behind = close + len(closing)
        return begin, inside, close, behind + len(text[behind:end]) - len(text[behind:end].lstrip())
    return None
