"""The model of the request body of ``/offsets``."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from service.schemas.fields import LEFT_TO_RIGHT, MostIds, MostItems, Span
from service.schemas.requests import Example, TextOrChatRequest
from tokenizer_core import Unit


class OffsetsRequest(TextOrChatRequest):
    """Text whose ids are wanted with their places. Of chats, places are in the rendered text, which `/render` gives."""

    unit: Unit = Field(
        "char", description="What spans count: `byte` of UTF-8, `char` (code points) or `utf16` code units."
    )
    trim_offsets: bool = Field(
        False,
        description="Leave white space at both ends of a token out of its span.",
    )
    tokens: bool = Field(False, description="Also return the text of every token.")
    target_spans: Annotated[MostIds[Span] | MostItems[MostIds[Span]] | None, LEFT_TO_RIGHT] = Field(
        None,
        description="Half-open spans in `unit`, one list a text or chat: `mask` is 1 for tokens that overlap one of "
        "them.",
    )

    EXAMPLES: ClassVar[dict[str, Example]] = {
        "one text": Example("a span for every id, in characters", {"text": "Grüße 🙂", "unit": "char", "tokens": True}),
        "a mask": Example("the tokens that overlap `world`", {"text": "Hello, world!", "target_spans": [[7, 12]]}),
        "a chat": Example(
            "places in the rendered text", {"messages": [{"role": "user", "content": "Hello"}], "unit": "byte"}
        ),
        "a span outside the text": Example(
            "refused with its place", {"text": "Hello", "target_spans": [[2, 3], [0, 99]]}, status=422
        ),
    }

    def asks_more(self) -> bool:
        """Tell whether the text of every token is asked for, other spans, or which of them lie in spans."""
        return self.tokens or self.trim_offsets or self.target_spans is not None
