"""tokd and its peers behind one shape: open a vocabulary, then encode, decode, count, give offsets.

Every entry hands out what the library itself hands out: turning its answer into something else is not timed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SPECIAL_TOKENS = {
    "cl100k_base": {"<|endoftext|>": 100257},
    "o200k_base": {"<|endoftext|>": 199999},
    "gpt2": {"<|endoftext|>": 50256},
}


@dataclass(frozen=True)
class Encoder:
    """What one library does with one vocabulary.

    ``ids_of`` turns an answer of ``encode`` into integers; ``spans_of`` one of ``offsets`` into pairs of code points.
    Neither is timed.
    """

    encode: Callable[[str], Any]
    ids_of: Callable[[Any], Iterable[int]]
    batch: Callable[[Sequence[str]], Any] | None = None
    rows_of: Callable[[Any], Iterable[Iterable[int]]] | None = None
    decode: Callable[[Any], str] | None = None
    count: Callable[[str], int] | None = None
    offsets: Callable[[str], Any] | None = None
    spans_of: Callable[[Any], Any] | None = None


@dataclass(frozen=True)
class Contender:
    """One library: its name, what pip calls it, which vocabularies it opens and what its answers are."""

    name: str
    package: str | None
    vocabularies: tuple[str, ...]
    returns: str
    open: Callable[[str, Path], Encoder]


def same(answer: Any) -> Any:
    """Return an answer that is already made of integers."""
    return answer


def ids_attribute(answer: Any) -> Any:
    """Return the ids of an ``Encoding`` object."""
    return answer.ids


def open_tokd(vocabulary: str, vocabs: Path) -> Encoder:
    """Open tokd."""
    from tokenizer_core import Tokenizer

    if vocabulary == "gpt2":
        tok = Tokenizer.from_hf(vocabs / "gpt2_tokenizer.json")
    else:
        specials = SPECIAL_TOKENS[vocabulary]
        tok = Tokenizer.from_tiktoken(vocabs / f"{vocabulary}.tiktoken", pattern=vocabulary, special_tokens=specials)
    return Encoder(
        encode=tok.encode,
        ids_of=same,
        batch=tok.encode_batch,
        rows_of=lambda answer: [answer[row] for row in range(len(answer))],
        decode=tok.decode,
        count=tok.count,
        offsets=tok.offsets,
        spans_of=lambda answer: answer.spans,
    )


def gpt2_ranks(vocab: Path) -> dict[bytes, int]:
    """Read GPT-2's ``vocab.json``, whose ids are its ranks, without its special token."""
    printable = [byte for byte in range(256) if chr(byte).isprintable() and byte not in (0x20, 0xAD)]
    others = [byte for byte in range(256) if byte not in printable]
    byte_of = {chr(byte): byte for byte in printable} | {chr(256 + at): byte for at, byte in enumerate(others)}
    entries = json.loads(vocab.read_text(encoding="utf-8")).items()
    specials = SPECIAL_TOKENS["gpt2"]
    return {bytes(byte_of[char] for char in entry): rank for entry, rank in entries if entry not in specials}


def tiktoken_encoding(vocabulary: str, vocabs: Path) -> Any:
    """Build tiktoken's encoding from the files at hand, without a download."""
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe

    if vocabulary == "gpt2":
        ranks = gpt2_ranks(vocabs / "gpt2_vocab.json")
    else:
        ranks = load_tiktoken_bpe(str(vocabs / f"{vocabulary}.tiktoken"))
    pattern, specials = PATTERNS[vocabulary], SPECIAL_TOKENS[vocabulary]
    return tiktoken.Encoding(vocabulary, pat_str=pattern, mergeable_ranks=ranks, special_tokens=specials)


def open_tiktoken(vocabulary: str, vocabs: Path) -> Encoder:
    """Open tiktoken."""
    encoding = tiktoken_encoding(vocabulary, vocabs)
    return Encoder(
        encode=encoding.encode_ordinary,
        ids_of=same,
        batch=lambda texts: encoding.encode_ordinary_batch(texts, num_threads=2),
        rows_of=same,
        decode=encoding.decode,
        count=lambda text: len(encoding.encode_ordinary(text)),
    )


def open_tokenizers(vocabulary: str, vocabs: Path) -> Encoder:
    """Open Hugging Face tokenizers."""
    from tokenizers import Tokenizer

    tok = Tokenizer.from_file(str(vocabs / f"{vocabulary}_tokenizer.json"))
    return Encoder(
        encode=tok.encode,
        ids_of=ids_attribute,
        batch=tok.encode_batch,
        rows_of=lambda answer: [row.ids for row in answer],
        decode=lambda answer: tok.decode(answer.ids, skip_special_tokens=False),
        count=lambda text: len(tok.encode(text)),
        offsets=tok.encode,
        spans_of=lambda answer: answer.offsets,
    )


def open_gigatoken(vocabulary: str, vocabs: Path) -> Encoder:
    """Open gigatoken."""
    from gigatoken import Tokenizer

    if vocabulary == "gpt2":
        tok = Tokenizer(vocabs / "gpt2_tokenizer.json")
    else:
        tok = Tokenizer.from_tiktoken(vocabs / f"{vocabulary}.tiktoken")
    return Encoder(
        encode=tok.encode,
        ids_of=same,
        batch=tok.encode_batch,
        rows_of=lambda answer: answer.to_list(),
        decode=lambda answer: tok.decode(answer).decode("utf-8", errors="replace"),
        count=lambda text: len(tok.encode(text)),
    )


def open_fastokens(vocabulary: str, vocabs: Path) -> Encoder:
    """Open fastokens."""
    from fastokens import Tokenizer

    if vocabulary == "gpt2":
        tok = Tokenizer.from_file(str(vocabs / "gpt2_tokenizer.json"))
    else:
        tok = Tokenizer.from_tiktoken(
            str(vocabs / f"{vocabulary}.tiktoken"),
            pattern=PATTERNS[vocabulary],
            special_tokens=SPECIAL_TOKENS[vocabulary],
        )
    return Encoder(
        encode=tok.encode,
        ids_of=ids_attribute,
        batch=tok.encode_batch,
        rows_of=lambda answer: [row.ids for row in answer],
        decode=lambda answer: tok.decode(answer.ids),
        count=lambda text: len(tok.encode(text).ids),
    )


def open_rs_bpe(vocabulary: str, _vocabs: Path) -> Encoder:
    """Open rs-bpe, which brings its own copies of the vocabularies."""
    from rs_bpe.bpe import openai

    tok = getattr(openai, vocabulary)()
    return Encoder(encode=tok.encode, ids_of=same, decode=tok.decode, count=tok.count)


def open_splintr(vocabulary: str, _vocabs: Path) -> Encoder:
    """Open splintr, which brings its own copies of the vocabularies."""
    from splintr import Tokenizer

    tok = Tokenizer.from_pretrained(vocabulary)
    return Encoder(
        encode=tok.encode_ordinary,
        ids_of=same,
        batch=tok.encode_batch,
        rows_of=same,
        decode=tok.decode,
        count=lambda text: len(tok.encode_ordinary(text)),
    )


def open_tokie(vocabulary: str, vocabs: Path) -> Encoder:
    """Open tokie."""
    from tokie import Tokenizer

    tok = Tokenizer.from_json(str(vocabs / f"{vocabulary}_tokenizer.json"))
    return Encoder(
        encode=tok.encode,
        ids_of=ids_attribute,
        batch=tok.encode_batch,
        rows_of=lambda answer: [row.ids for row in answer],
        decode=lambda answer: tok.decode(answer.ids),
        count=tok.count_tokens,
    )


CASE_ENDINGS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
PATTERNS = {
    "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    "cl100k_base": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    "o200k_base": "|".join(
        (
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + CASE_ENDINGS,
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + CASE_ENDINGS,
            r"\p{N}{1,3}",
            r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
            r"\s*[\r\n]+",
            r"\s+(?!\S)",
            r"\s+",
        )
    ),
}
"""The public patterns, as tiktoken 0.14 has them; its module holds them inside functions that download."""

BOTH = ("cl100k_base", "o200k_base")
ALL = (*BOTH, "gpt2")

CONTENDERS = {
    contender.name: contender
    for contender in (
        Contender("tokd", None, ALL, "numpy", open_tokd),
        Contender("tiktoken", "tiktoken", ALL, "list", open_tiktoken),
        Contender("tokenizers", "tokenizers", ("gpt2",), "objects", open_tokenizers),
        Contender("gigatoken", "gigatoken", ALL, "numpy", open_gigatoken),
        Contender("fastokens", "fastokens", ALL, "objects", open_fastokens),
        Contender("rs-bpe", "rs-bpe", BOTH, "list", open_rs_bpe),
        Contender("splintr", "splintr-rs", BOTH, "list", open_splintr),
        Contender("tokie", "tokie", ("gpt2",), "objects", open_tokie),
    )
}
"""Every contender; ``tiktoken`` is the truth that the others' ids are held against."""
