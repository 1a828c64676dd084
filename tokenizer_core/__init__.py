"""Tokenization: text to token ids and back, exactly as a model's own tokenizer does.

>>> from tokenizer_core import Tokenizer
>>> tokenizer = Tokenizer.open("artifacts/base")
"""

from tokenizer_core.check import CheckReport, Point, Status, check, check_artifact
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
from tokenizer_core.export import Beside, to_huggingface, to_tiktoken, to_vocab_merges
from tokenizer_core.shaping import Cut, Padding, Row, Side, padded_width, shape_rows
from tokenizer_core.tokenizer import EncodedBatch, Offsets, SpecialTokens, Tokenizer, Unit

__all__ = [
    "AddedToken",
    "ArtifactError",
    "ArtifactNotFound",
    "Beside",
    "CheckReport",
    "Cut",
    "EncodedBatch",
    "HashMismatch",
    "InputError",
    "InternalError",
    "InvalidArtifact",
    "InvalidOption",
    "InvalidUnicode",
    "Offsets",
    "Padding",
    "PipelineConfig",
    "Point",
    "ReservedLiteral",
    "Row",
    "Settings",
    "Side",
    "SpecialTokens",
    "Status",
    "StepLimit",
    "TokdError",
    "Tokenizer",
    "UncoveredText",
    "Unit",
    "UnknownTokenId",
    "Unsupported",
    "check",
    "check_artifact",
    "padded_width",
    "shape_rows",
    "to_huggingface",
    "to_tiktoken",
    "to_vocab_merges",
]
