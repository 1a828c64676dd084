"""The compiled engine, called by the facade and the formats; every error is one of ``tokenizer_core.errors``.

All heavy calls release the GIL. ``special_tokens`` is one of ``"reject"``, ``"text"``, ``"parse"`` and ``"ordinary"``
(no added token matches at all). ``unit`` is ``"byte"``, ``"char"`` or ``"utf16"``.
"""

from collections.abc import Sequence
from typing import final

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.uint32]

UNICODE_VERSION: str
"""The version of every character class, such as ``"16.0.0"``."""

@final
class Vocabulary:
    """Bytes by id, with holes, and the merges in rank order."""

    @staticmethod
    def from_tiktoken(data: bytes) -> Vocabulary:
        """Read a rank file (``base64 rank`` lines) and recover the merge behind every token."""

    @staticmethod
    def from_tokenizer_json(data: bytes) -> tuple[Vocabulary, str]:
        """Read ``model.vocab`` and ``model.merges``; the rest of the document comes back as JSON text."""

    @staticmethod
    def from_vocab_merges(vocab: bytes, merges: bytes) -> Vocabulary:
        """Read GPT-2's ``vocab.json`` and ``merges.txt``."""

    @staticmethod
    def from_tokens(tokens: Sequence[tuple[int, bytes]], merges: Sequence[tuple[int, int, int]]) -> Vocabulary:
        """Build from ``(id, bytes)`` and merges ``(left id, right id, product id)`` in rank order."""

    def reserve(self, added: Sequence[tuple[int, str]]) -> Vocabulary:
        """Check ``(id, literal)`` of all added tokens, and leave out the entries that are nothing but these literals.

        Raises:
            InvalidArtifact: ``duplicate_id``, ``duplicate_token``, ``id_conflict`` or ``id_out_of_range`` at
                ``added_tokens[i]``.
        """

    @property
    def id_limit(self) -> int:
        """One more than the highest id; holes count."""

    @property
    def digest(self) -> bytes:
        """SHA-256 over every id, its bytes and every merge; 32 bytes."""

    def token_bytes(self, id: int) -> bytes | None:
        """Return the token's bytes, or ``None`` for a hole."""

    def token_texts(self) -> list[tuple[str, int]]:
        """Return ``(entry, id)`` as ``tokenizer.json`` has them (byte alphabet; opaque entries as they are), by id."""

    def is_opaque(self, id: int) -> bool:
        """Tell whether the entry is a literal outside the byte alphabet, which no merge produces."""

    def merges(self) -> list[tuple[bytes, bytes]]:
        """Return the two parts of every merge, lowest rank first."""

    def merge_ids(self) -> list[tuple[int, int, int]]:
        """Return ``(left id, right id, product id)`` of every merge, lowest rank first."""

@final
class Pipeline:
    """A whole tokenizer: immutable, safe to share between threads.

    Args:
        vocabulary: the tokens and merges.
        config: the pipeline as JSON (``tokenizer_core.config.PipelineConfig.to_json``).
        cache_bytes: bound of the piece cache of one thread.
    """

    def __new__(cls, vocabulary: Vocabulary, config: str, cache_bytes: int = ...) -> Pipeline: ...
    @property
    def id_limit(self) -> int:
        """One more than the highest id of the vocabulary and the added tokens."""

    def encode(self, text: str, special_tokens: str = "reject", add_special_tokens: bool = False) -> Ids:
        """Encode a text; shape (n,)."""

    def encode_json(
        self, text: str, special_tokens: str = "reject", add_special_tokens: bool = False
    ) -> tuple[bytes, int]:
        """Encode a text into a JSON array of ids, such as ``b"[15339,1917]"``, and count them."""

    def encode_batch(
        self, texts: Sequence[str], special_tokens: str = "reject", add_special_tokens: bool = False, threads: int = 0
    ) -> tuple[Ids, npt.NDArray[np.int64]]:
        """Encode many texts over ``threads`` threads (0: one a core); ids (total,) and row offsets (rows + 1,)."""

    def count(self, text: str, special_tokens: str = "reject", add_special_tokens: bool = False) -> int:
        """Count the ids of a text without building them."""

    def offsets(
        self, text: str, unit: str = "char", special_tokens: str = "reject", add_special_tokens: bool = False
    ) -> tuple[Ids, npt.NDArray[np.uint32]]:
        """Encode a text with the span of every id in ``unit``; ids (n,) and spans (n, 2)."""

    def pieces(self, text: str) -> list[str]:
        """Return the pretokenizer's cut of the normalized text; added tokens are not looked for."""

    def decode_bytes(self, ids: Ids | Sequence[int], skip_special_tokens: bool = False) -> bytes:
        """Join the bytes of all ids."""

    def decode(self, ids: Ids | Sequence[int], skip_special_tokens: bool = False) -> str:
        """Join the bytes of all ids and decode them; invalid UTF-8 becomes U+FFFD by maximal subparts."""

    def stream_decoder(self, skip_special_tokens: bool = False) -> StreamDecoder:
        """Begin a decoder that is given its ids bit by bit."""

@final
class StreamDecoder:
    """Decode ids as they come; the joined pushes and the finish equal the whole decode at every split."""

    def push(self, ids: Ids | Sequence[int]) -> str:
        """Return all text that is certain by now."""

    def finish(self) -> str:
        """Return what is left: U+FFFD for half a character, or nothing."""

    @property
    def pending(self) -> bytes:
        """The bytes held back: at most three."""
