"""What callers choose when they encode."""

from __future__ import annotations

from typing import Literal, TypedDict


class SamplingOptions(TypedDict, total=False):
    """What draws a segmentation, as of ``encode``."""

    dropout: float | None
    alpha: float | None
    nbest: int | None
    seed: int | None


SpecialTokens = Literal["reject", "text", "parse", "ordinary"]
"""What the literal of a special token in a text means: an error, text, or the token; with ``"ordinary"`` no added token
matches at all, special or not."""
