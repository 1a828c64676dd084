"""Tokenization: text to token ids and back, exactly as a model's own tokenizer does.

>>> from tokenizer_core import Tokenizer
>>> tokenizer = Tokenizer.open("artifacts/base")
"""

from tokenizer_core.config import AddedToken, PipelineConfig, Settings
from tokenizer_core.errors import (
    ArtifactError,
    ArtifactNotFound,
    HashMismatch,
    InputError,
    InternalError,
    InvalidArtifact,
    InvalidOption,
    InvalidUnicode,
    ReservedLiteral,
    StepLimit,
    TokdError,
    UncoveredText,
    UnknownTokenId,
    Unsupported,
)
from tokenizer_core.shaping import Row, padded_width, shape_rows
from tokenizer_core.tokenizer import EncodedBatch, Offsets, SpecialTokens, Tokenizer, Unit

__all__ = [
    "AddedToken",
    "ArtifactError",
    "ArtifactNotFound",
    "EncodedBatch",
    "HashMismatch",
    "InputError",
    "InternalError",
    "InvalidArtifact",
    "InvalidOption",
    "InvalidUnicode",
    "Offsets",
    "PipelineConfig",
    "ReservedLiteral",
    "Row",
    "Settings",
    "SpecialTokens",
    "StepLimit",
    "TokdError",
    "Tokenizer",
    "UncoveredText",
    "Unit",
    "UnknownTokenId",
    "Unsupported",
    "padded_width",
    "shape_rows",
]
