"""tokd and its peers behind one shape: open a vocabulary, then encode, decode, count, give offsets.

Every entry hands out what the library itself hands out: turning its answer into something else is not timed. Each
tries every vocabulary; one that does not open it is left out and named with its own words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks import openers
from benchmarks.openers import Encoder, Files


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
    "tokd": Contender(None, "tokenizer_core", "numpy", openers.open_tokd),
    "tokd, portable": Contender(None, "tokenizer_core", "numpy", openers.open_tokd, kernel="portable"),
    "tiktoken": Contender("tiktoken", "tiktoken", "list", openers.open_tiktoken),
    "tokenizers": Contender("tokenizers", "tokenizers", "object", openers.open_tokenizers),
    "gigatoken": Contender("gigatoken", "gigatoken", "numpy", openers.open_gigatoken),
    "fastokens": Contender("fastokens", "fastokens", "object", openers.open_fastokens),
    "quicktok": Contender("quicktok-v1", "quicktok", "list", openers.open_quicktok),
    "rs-bpe": Contender("rs-bpe", "rs_bpe.bpe", "list", openers.open_rs_bpe),
    "splintr": Contender("splintr-rs", "splintr", "bytes", openers.open_splintr),
    "tokie": Contender("tokie", "tokie", "object", openers.open_tokie),
}
"""Every contender; ``tiktoken`` is the truth that the others' ids are held against."""

OPENINGS = {
    **{name: one for name, one in CONTENDERS.items() if not one.kernel},
    "tokd, an artifact": Contender(None, "tokenizer_core", "numpy", openers.open_artifact),
}
"""What start-up and memory are measured of: also an artifact, whose hashes are verified."""
