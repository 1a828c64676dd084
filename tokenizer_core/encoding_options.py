"""The options of callers that encode."""

from __future__ import annotations

from typing import Literal, TypedDict


class SamplingOptions(TypedDict, total=False):
    """The options that draw a segmentation, as of ``encode``."""

    dropout: float | None
    alpha: float | None
    nbest: int | None
    seed: int | None


SpecialTokens = Literal["reject", "text", "parse", "ordinary"]
"""The meaning of a special token's literal in a text: an error, text, or the token; with ``"ordinary"`` no added token
matches at all, special or not."""
