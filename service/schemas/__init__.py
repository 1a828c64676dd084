"""The bodies of every request and answer, as they are checked and as they are documented."""

from service.schemas.answers import (
    CheckAnswer,
    CountAnswer,
    DecodeAnswer,
    EncodeAnswer,
    Health,
    OffsetsAnswer,
    ProblemAnswer,
    TokenizerInfo,
    TokenizerList,
)
from service.schemas.fields import Part, Side, SpecialTokens, Unit
from service.schemas.requests import (
    INLINE_ITEMS,
    CountRequest,
    DecodeRequest,
    EncodeRequest,
    Example,
    OffsetsRequest,
    Request,
    RequestBody,
    Requests,
    TextRequest,
    under_limits,
)

__all__ = [
    "INLINE_ITEMS",
    "CheckAnswer",
    "CountAnswer",
    "CountRequest",
    "DecodeAnswer",
    "DecodeRequest",
    "EncodeAnswer",
    "EncodeRequest",
    "Example",
    "Health",
    "OffsetsAnswer",
    "OffsetsRequest",
    "Part",
    "ProblemAnswer",
    "Request",
    "RequestBody",
    "Requests",
    "Side",
    "SpecialTokens",
    "TextRequest",
    "TokenizerInfo",
    "TokenizerList",
    "Unit",
    "under_limits",
]
