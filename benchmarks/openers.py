"""tokd and its peers behind one shape: each opens a vocabulary from files at hand, without a download.

Every entry hands out what the library itself hands out: turning its answer into something else is not timed. Each
tries every vocabulary; one that does not open it is left out and named with its own words.

Nothing heavy is imported before a contender is opened, since that is measured too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# The public patterns and special tokens, as tiktoken 0.14 has them inside functions that download.
SPECIAL_TOKENS = {
    "cl100k_base": {"<|endoftext|>": 100257},
    "o200k_base": {"<|endoftext|>": 199999},
    "gpt2": {"<|endoftext|>": 50256},
}

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


def same(answer: Any) -> Any:
    """Return an answer that is already made of integers."""
    return answer


def ids_attribute(answer: Any) -> Any:
    """Return the ids of an object that holds an encoding."""
    return answer.ids


def words(answer: bytes) -> memoryview:
    """Read little-endian words of 32 bits."""
    return memoryview(answer).cast("I")


@dataclass(frozen=True)
class Encoder:
    """What one library does with one vocabulary.

    Attributes:
        ids_of: turns an answer of ``encode`` into integers; not timed.
        given: turns an answer of ``encode`` into what ``decode`` takes; not timed.
        flat: turns an answer of ``batch`` into the integers of all rows; not timed.
        spans_of: turns an answer of ``offsets`` into pairs, of bytes if ``in_bytes``; not timed.
    """

    encode: Callable[[str], Any]
    count: Callable[[str], int] | None = None
    ids_of: Callable[[Any], Any] = same
    given: Callable[[Any], Any] = same
    batch: Callable[[Sequence[str]], Any] | None = None
    flat: Callable[[Any], Iterable[int]] = same
    decode: Callable[[Any], str] | None = None
    decode_bytes: Callable[[Any], bytes] | None = None
    offsets: Callable[[str], Any] | None = None
    spans_of: Callable[[Any], Any] = same
    in_bytes: bool = False


@dataclass(frozen=True)
class Files:
    """Where vocabularies are: as they are published, and as artifacts that tokd made of them."""

    vocabs: Path
    converted: Path

    def ranks(self, vocabulary: str) -> Path:
        """Return a file of ranks."""
        return self.vocabs / f"{vocabulary}.tiktoken"

    def artifact(self, vocabulary: str) -> Path:
        """Return a folder with a ``tokenizer.json``."""
        return self.converted / vocabulary

    def tokenizer_json(self, vocabulary: str) -> Path:
        """Return GPT-2's own file, or the one that tokd wrote."""
        published = self.vocabs / f"{vocabulary}_tokenizer.json"
        return published if published.exists() else self.artifact(vocabulary) / "tokenizer.json"


def open_published(vocabulary: str, files: Files) -> Any:
    """Open a published file with tokd."""
    from tokenizer_core import Tokenizer

    if vocabulary == "gpt2":
        return Tokenizer.from_hf(files.tokenizer_json(vocabulary))
    specials = SPECIAL_TOKENS[vocabulary]
    return Tokenizer.from_tiktoken(files.ranks(vocabulary), pattern=vocabulary, special_tokens=specials)


def encoder_of_tokd(tok: Any) -> Encoder:
    """Say what tokd does."""
    return Encoder(
        encode=tok.encode,
        count=tok.count,
        batch=tok.encode_batch,
        flat=lambda answer: answer.ids,
        decode=tok.decode,
        decode_bytes=tok.decode_bytes,
        offsets=tok.offsets,
        spans_of=lambda answer: answer.spans,
    )


def open_tokd(vocabulary: str, files: Files) -> Encoder:
    """Open tokd from the files that others open."""
    return encoder_of_tokd(open_published(vocabulary, files))


def open_artifact(vocabulary: str, files: Files) -> Encoder:
    """Open tokd from an artifact."""
    from tokenizer_core import Tokenizer

    return encoder_of_tokd(Tokenizer.open(files.artifact(vocabulary)))


def joined(rows: Iterable[Iterable[int]]) -> list[int]:
    """Put rows behind each other."""
    return [id for row in rows for id in row]


def byte_of_character() -> dict[str, int]:
    """Return the byte behind each of the 256 characters that stand for bytes in GPT-2's and Hugging Face's files.

    It stands here again because importing it from ``tokenizer_core`` would be measured as a part of opening a peer.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + at): byte for at, byte in enumerate(others)}


def gpt2_ranks(vocab: Path) -> dict[bytes, int]:
    """Read GPT-2's ``vocab.json``, whose ids are its ranks, without its special token."""
    byte_of = byte_of_character()
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


def open_tiktoken(vocabulary: str, files: Files) -> Encoder:
    """Open tiktoken."""
    encoding = tiktoken_encoding(vocabulary, files.vocabs)
    threads = len(os.sched_getaffinity(0))
    return Encoder(
        encode=encoding.encode_ordinary,
        count=lambda text: len(encoding.encode_ordinary(text)),
        batch=lambda texts: encoding.encode_ordinary_batch(list(texts), num_threads=threads),
        flat=joined,
        decode=encoding.decode,
        decode_bytes=encoding.decode_bytes,
    )


def open_tokenizers(vocabulary: str, files: Files) -> Encoder:
    """Open Hugging Face tokenizers."""
    from tokenizers import Tokenizer

    tok = Tokenizer.from_file(str(files.tokenizer_json(vocabulary)))
    return Encoder(
        encode=tok.encode,
        count=lambda text: len(tok.encode(text)),
        ids_of=ids_attribute,
        given=ids_attribute,
        batch=tok.encode_batch,
        flat=lambda answer: joined(row.ids for row in answer),
        decode=lambda ids: tok.decode(ids, skip_special_tokens=False),
        offsets=tok.encode,
        spans_of=lambda answer: answer.offsets,
    )


def open_gigatoken(vocabulary: str, files: Files) -> Encoder:
    """Open gigatoken."""
    from gigatoken import Tokenizer

    if vocabulary == "gpt2":
        tok = Tokenizer(files.tokenizer_json(vocabulary))
    else:
        tok = Tokenizer.from_tiktoken(files.ranks(vocabulary))
    return Encoder(
        encode=tok.encode,
        count=lambda text: len(tok.encode(text)),
        batch=tok.encode_batch,
        flat=lambda answer: joined(answer.to_list()),
        decode=lambda ids: tok.decode(ids).decode("utf-8", errors="replace"),
        decode_bytes=tok.decode,
    )


def open_fastokens(vocabulary: str, files: Files) -> Encoder:
    """Open fastokens."""
    from fastokens import Tokenizer

    if vocabulary == "gpt2":
        tok = Tokenizer.from_file(str(files.tokenizer_json(vocabulary)))
    else:
        pattern, specials = PATTERNS[vocabulary], SPECIAL_TOKENS[vocabulary]
        tok = Tokenizer.from_tiktoken(str(files.ranks(vocabulary)), pattern=pattern, special_tokens=specials)
    return Encoder(
        encode=tok.encode,
        count=lambda text: len(tok.encode(text)),
        ids_of=ids_attribute,
        given=ids_attribute,
        batch=tok.encode_batch_flat,
        flat=lambda answer: words(answer[0]),
        decode=tok.decode,
    )


def open_quicktok(vocabulary: str, _files: Files) -> Encoder:
    """Open quicktok, which brings its own copies of the vocabularies."""
    import quicktok

    tok = quicktok.get_encoding(vocabulary)
    return Encoder(
        encode=tok.encode_ordinary,
        count=tok.count,
        batch=tok.encode_batch,
        flat=lambda answer: answer[0],
        decode=tok.decode,
        decode_bytes=tok.decode_bytes,
    )


def open_rs_bpe(vocabulary: str, _files: Files) -> Encoder:
    """Open rs-bpe, which brings its own copies of the vocabularies."""
    from rs_bpe.bpe import openai

    tok = getattr(openai, vocabulary)()
    options = openai.ParallelOptions(min_batch_size=20, chunk_size=100, max_threads=0)
    return Encoder(
        encode=tok.encode,
        count=tok.count,
        batch=lambda texts: tok.encode_batch_parallel(texts, options),
        flat=lambda answer: joined(answer[0]),
        decode=tok.decode,
    )


def open_splintr(vocabulary: str, files: Files) -> Encoder:
    """Open splintr, which brings its own copies of two of the vocabularies."""
    import splintr

    if vocabulary == "gpt2":
        tok = splintr.from_json(str(files.tokenizer_json(vocabulary)))
    else:
        tok = splintr.Tokenizer.from_pretrained(vocabulary)
    return Encoder(
        encode=tok.encode_flat,
        count=lambda text: len(tok.encode_flat(text)) // 4,
        ids_of=words,
        given=lambda answer: words(answer).tolist(),
        batch=tok.encode_batch_flat,
        flat=lambda answer: words(answer[0]),
        decode=tok.decode,
        decode_bytes=None if vocabulary == "gpt2" else tok.decode_bytes,  # It refuses what has a decoder of its own.
    )


def open_tokie(vocabulary: str, files: Files) -> Encoder:
    """Open tokie."""
    from tokie import Tokenizer

    tok = Tokenizer.from_json(str(files.tokenizer_json(vocabulary)))
    return Encoder(
        encode=tok.encode,
        count=tok.count_tokens,
        ids_of=ids_attribute,
        given=ids_attribute,
        batch=tok.encode_batch_flat,
        flat=lambda answer: answer[0],
        decode=tok.decode,
        decode_bytes=tok.decode_bytes,
        offsets=tok.encode_with_offsets,
        spans_of=lambda answer: answer.offsets,
        in_bytes=True,
    )


@dataclass(frozen=True)
class Contender:
    """One library: what pip and Python call it, what its ``encode`` returns, and how it opens a vocabulary.

    ``kernel`` is the path of tokd's kernel that it is held to.
    """

    package: str | None
    module: str
    returns: str
    open: Callable[[str, Files], Encoder]
    kernel: str = ""


CONTENDERS = {
    "tokd": Contender(None, "tokenizer_core", "numpy", open_tokd),
    "tokd, portable": Contender(None, "tokenizer_core", "numpy", open_tokd, kernel="portable"),
    "tiktoken": Contender("tiktoken", "tiktoken", "list", open_tiktoken),
    "tokenizers": Contender("tokenizers", "tokenizers", "object", open_tokenizers),
    "gigatoken": Contender("gigatoken", "gigatoken", "numpy", open_gigatoken),
    "fastokens": Contender("fastokens", "fastokens", "object", open_fastokens),
    "quicktok": Contender("quicktok-v1", "quicktok", "list", open_quicktok),
    "rs-bpe": Contender("rs-bpe", "rs_bpe.bpe", "list", open_rs_bpe),
    "splintr": Contender("splintr-rs", "splintr", "bytes", open_splintr),
    "tokie": Contender("tokie", "tokie", "object", open_tokie),
}
"""Every contender; ``tiktoken`` is the truth that the others' ids are held against."""

OPENINGS = {
    **{name: one for name, one in CONTENDERS.items() if not one.kernel},
    "tokd, an artifact": Contender(None, "tokenizer_core", "numpy", open_artifact),
}
"""What start-up and memory are measured of: also an artifact, whose hashes are verified."""
