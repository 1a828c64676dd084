"""Tokenizers that the tests share, each opened once a process: ours, and the same ones of other projects."""

from __future__ import annotations

import base64
import json
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import tiktoken
import tokenizers

from tests.support import tiny
from tests.support.data import shared
from tokenizer_core import Responder, Tokenizer
from tokenizer_core._kernel import Vocabulary
from tokenizer_core.config import PipelineConfig, TokenizerParts
from tokenizer_core.reference import rank_file
from tokenizer_core.reference.byte_alphabet import from_entry
from tokenizer_core.reference.patterns import PATTERNS
from tokenizer_core.reference.tokenizer import ReferenceTokenizer
from tokenizer_core.stages import Pattern, Pretokenizer

REAL = ("gpt2", "cl100k_base", "o200k_base", "qwen2", "llama3")
TIKTOKEN = ("gpt2", "cl100k_base", "o200k_base")
HUGGING_FACE = ("gpt2", "qwen2", "llama3")
SPECIALS = {
    "gpt2": {"<|endoftext|>": 50256},
    "cl100k_base": {
        "<|endoftext|>": 100257,
        "<|fim_prefix|>": 100258,
        "<|fim_middle|>": 100259,
        "<|fim_suffix|>": 100260,
        "<|endofprompt|>": 100276,
    },
    "o200k_base": {"<|endoftext|>": 199999, "<|endofprompt|>": 200018},
}


@cache
def tokenizer(name: str) -> Tokenizer:
    """Open the tokenizer of a name in ``REAL``, or ``tiny``."""
    if name == "tiny":
        return tiny_tokenizer()
    if name in HUGGING_FACE:
        return Tokenizer.from_hf(shared(f"vocabs/{name}_tokenizer.json"))
    return Tokenizer.from_tiktoken(shared(f"vocabs/{name}.tiktoken"), pattern=name, special_tokens=SPECIALS[name])


@cache
def tiny_tokenizer() -> Tokenizer:
    """Build the tiny tokenizer from GPT-2's two files, with one special token."""
    with tempfile.TemporaryDirectory() as folder:
        vocab, merges = Path(folder, "vocab.json"), Path(folder, "merges.txt")
        vocab.write_text(json.dumps(tiny.vocab()), "utf-8")
        merges.write_text(tiny.merges_txt(), "utf-8")
        return Tokenizer.from_vocab_merges(vocab, merges, special_tokens={"<|end|>": len(tiny.vocab())})


@cache
def reference(name: str) -> ReferenceTokenizer:
    """Build the reference of a tokenizer."""
    return ReferenceTokenizer.of(tokenizer(name))


@cache
def ranks(name: str) -> dict[bytes, int]:
    """Read the tokens of a vocabulary by rank, as tiktoken takes them."""
    if name == "tiny":
        return tiny.ranks()
    if name == "gpt2":
        vocab = json.loads(shared("vocabs/gpt2_vocab.json").read_text("utf-8"))
        return {from_entry(entry): id for entry, id in vocab.items() if entry not in SPECIALS["gpt2"]}
    return rank_file.read(shared(f"vocabs/{name}.tiktoken").read_bytes())


@cache
def tiktoken_encoding(name: str) -> tiktoken.Encoding:
    """Build tiktoken's encoding from the rank file, with the pattern as tiktoken itself publishes it."""
    return tiktoken.Encoding(
        name, pat_str=TIKTOKEN_PATTERNS[name], mergeable_ranks=ranks(name), special_tokens=SPECIALS.get(name, {})
    )


@cache
def hugging_face(name: str) -> tokenizers.Tokenizer:
    """Open a ``tokenizer.json`` with Hugging Face's library."""
    return tokenizers.Tokenizer.from_file(str(shared(f"vocabs/{name}_tokenizer.json")))


# tiktoken 0.14's own texts for gpt2 and cl100k_base: possessive, so that its engine neither overflows nor backtracks.
TIKTOKEN_PATTERNS = {
    "tiny": PATTERNS["gpt2"],
    "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    "cl100k_base": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    "o200k_base": PATTERNS["o200k_base"],
}


def build(
    tokens: Mapping[int, bytes] | None = None, merges: Sequence[tuple[int, int, int]] = (), **config: Any
) -> Tokenizer:
    """Build a tokenizer from parts; without tokens, the 256 bytes.

    ``config`` is ``PipelineConfig``'s, in its objects or as JSON values.
    """
    tokens = {byte: bytes([byte]) for byte in range(256)} if tokens is None else tokens
    return from_parts(Vocabulary.from_tokens(list(tokens.items()), list(merges)), **config)


def from_ranks(ranks: Mapping[bytes, int], **config: Any) -> Tokenizer:
    """Build a tokenizer as from a rank file that holds ``ranks``."""
    lines = [base64.b64encode(token) + f" {rank}\n".encode() for token, rank in ranks.items()]
    return from_parts(Vocabulary.from_tiktoken(b"".join(lines)), ignore_merges=True, **config)


def from_parts(vocabulary: Vocabulary, **config: Any) -> Tokenizer:
    """Build a tokenizer from a vocabulary and a configuration."""
    return Tokenizer(TokenizerParts(vocabulary, PipelineConfig(**config)))


def split(text: str, behavior: Any = "isolated", invert: bool = False) -> Pretokenizer:
    """Describe a cut at a pattern that is given by name or as a regular expression."""
    return Pretokenizer(
        "split", pattern=Pattern("name" if text in PATTERNS else "regex", text), behavior=behavior, invert=invert
    )


def answered(tokenizer: Tokenizer, text: str) -> tuple[bytes, int]:
    """Return what the kernel answers to ``POST /encode`` of a text, without the tokenizer's hash."""
    body = json.dumps({"text": text, "special_tokens": "parse", "add_special_tokens": False}).encode()
    given = Responder(tokenizer, b"{").answer_texts("encode", body, None, max_items=1, threads=1)
    assert isinstance(given, tuple)
    return bytes(given[0]), given[1]
