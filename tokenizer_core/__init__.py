"""Tokenization: text to token ids and back, exactly as a model's own tokenizer does.

>>> from tokenizer_core import Tokenizer
>>> tokenizer = Tokenizer.open("artifacts/base")

`__init__.pyi` lists every public name and its module; a name is imported when it is first asked for, so that text to
ids and back goes without what only training and chats need.
"""

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

_MODULES = {
    name.name: str(statement.module)
    for statement in ast.parse(Path(__file__).with_suffix(".pyi").read_bytes()).body
    if isinstance(statement, ast.ImportFrom)
    for name in statement.names
}
"""The module of every public name."""

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


_FOR_PEOPLE = """
    VERSION Tokenizer TokdError ArtifactError CorpusError InputError InvalidOption ReservedLiteral UnknownTokenId
    AddedToken BlockHashes ChatParser ContinuedChat EncodedBatch EncodedChat EncodedPair Offsets ParsedChat
    PipelineConfig RenderedChat ResponseTemplate Segmentation Settings block_hashes prefix_hash continue_chat
    shape_rows train train_characters train_sizes extend counted Counts Recipe TrainingReport TrainingRun
    TrainSettings CharacterSettings SentencePieceBpeSettings UnigramSettings WordPieceSettings WordSettings check
    check_artifact CheckReport compare Comparison fertility fertility_by_language Fertility Explainer encode_corpus
    read_token_files check_token_files sample_corpus Files RayEngine TokenFiles pack pack_files plan_packs write_packs
    Packs to_huggingface to_sentencepiece to_tiktoken to_vocab_merges
"""
"""The rest of ``__all__`` are words and parts for the service, and errors below these."""


def __dir__() -> list[str]:
    return sorted(_FOR_PEOPLE.split())
