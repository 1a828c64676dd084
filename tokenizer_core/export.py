"""Write a tokenizer in the formats of other programs; refuse by name anything that a format cannot hold.

Rank files and ``vocab.json`` with ``merges.txt`` hold a vocabulary and its merges. The pattern and the special tokens
travel beside them (``Beside``); anything else that changes an id is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tokenizer_core import patterns
from tokenizer_core.arguments import check_kind
from tokenizer_core.config import PipelineConfig, TokenizerParts
from tokenizer_core.errors import Unsupported
from tokenizer_core.formats import hf_write, sentencepiece_export, tiktoken, vocab_merges
from tokenizer_core.formats.added import require_bare
from tokenizer_core.pattern_coverage import covers_every_text


@dataclass(frozen=True, slots=True)
class Beside:
    """Facts that a reader of the exported files also needs.

    Attributes:
        pattern: its name, or the regular expression itself if it has none.
        regex: the regular expression.
        special_tokens: ids by literal.
    """

    pattern: str
    regex: str
    special_tokens: Mapping[str, int]


def to_huggingface(parts: TokenizerParts) -> dict[str, bytes]:
    """Write every file of Hugging Face's layout, by name.

    Raises:
        Unsupported: with the field that it cannot carry.
    """
    check_kind(parts, TokenizerParts, "parts")
    return hf_write.render(parts)


def to_tiktoken(parts: TokenizerParts) -> tuple[bytes, Beside]:
    """Write a rank file.

    Raises:
        Unsupported: with the field that it cannot carry.
    """
    check_kind(parts, TokenizerParts, "parts")
    beside = _beside(parts.config, "a rank file")
    return tiktoken.render(parts), beside


def to_sentencepiece(parts: TokenizerParts) -> bytes:
    """Write ``tokenizer.model``: the model that was read, or one of Unigram or BPE over characters.

    Raises:
        Unsupported: with the field that it cannot carry.
    """
    check_kind(parts, TokenizerParts, "parts")
    return sentencepiece_export.render(parts)


def to_vocab_merges(parts: TokenizerParts) -> tuple[dict[str, bytes], Beside]:
    """Write GPT-2's ``vocab.json`` and ``merges.txt``, by name.

    Raises:
        Unsupported: with the field that they cannot carry.
    """
    check_kind(parts, TokenizerParts, "parts")
    beside = _beside(parts.config, "vocab.json with merges.txt")
    vocab, merges = vocab_merges.render(parts)
    return {"vocab.json": vocab, "merges.txt": merges}, beside


def _beside(config: PipelineConfig, format: str) -> Beside:
    """Return what travels beside the files, or refuse what does not travel at all."""
    if config.normalizer:
        raise Unsupported(f"{format} has no normalizer; export to huggingface", field="normalizer")
    if config.prefix_space:
        raise Unsupported(
            f"{format} puts no space before a text; export to huggingface", field="pre_tokenizer.add_prefix_space"
        )
    require_bare(config, format)
    stages = config.pretokenizer
    if len(stages) == 1 and stages[0].type == "split":
        stage = stages[0]
        matches = (stage.behavior, stage.invert) in (("isolated", False), ("removed", True))
        if matches and stage.pattern.kind != "string":
            text = stage.pattern.text
            if stage.pattern.kind == "regex" and not patterns.read_alike(text):
                raise Unsupported(
                    f"the expression means something else to those who read {format}; export to huggingface",
                    field="pre_tokenizer.pattern",
                )
            if stage.pattern.kind == "regex" and stage.behavior == "isolated" and not covers_every_text(text):
                raise Unsupported(
                    "the expression may leave text between its matches, which is a piece here and is lost to those who "
                    f"read {format}; export to huggingface",
                    field="pre_tokenizer",
                )
            regex = patterns.PATTERNS[text] if stage.pattern.kind == "name" else text
            return Beside(text, regex, {token.content: token.id for token in config.added_tokens})
    raise Unsupported(f"{format} goes with exactly one pattern; export to huggingface", field="pre_tokenizer")
