"""The whole reference tokenizer, for comparison with any other."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from tokenizer_core.errors import UnknownTokenId
from tokenizer_core.reference import decoders, sentencepiece, utf8
from tokenizer_core.reference.added_tokens import Literal, split
from tokenizer_core.reference.byte_bpe import Ranks, merge_heap
from tokenizer_core.reference.models import BYTE, ReferenceModel
from tokenizer_core.reference.normalize import byte_cuts, clean_cuts, normalize
from tokenizer_core.reference.offsets import in_unit
from tokenizer_core.reference.pretokenize import REWRITES, places, rewritten

if TYPE_CHECKING:
    from tokenizer_core.tokenizer import Tokenizer

_T = TypeVar("_T")
Token = tuple[int, int, int]
"""An id and its byte span in the caller's text."""


class ReferenceTokenizer:
    """Encode and decode by the specification.

    Args:
        tokens: bytes by id, of every token that text can become and of every added token.
        merges: the two parts of each merge, lowest rank first.
        config: the pipeline, as ``PipelineConfig.to_json`` writes it.
        merge: ``merge_scan`` or ``merge_heap``.
        scores: by id, of models that have some.
    """

    def __init__(
        self,
        tokens: Mapping[int, bytes],
        merges: Sequence[tuple[bytes, bytes]],
        config: Mapping[str, Any],
        merge: Callable[[bytes, Ranks], list[bytes]] = merge_heap,
        scores: Sequence[float] = (),
    ) -> None:
        self._tokens = dict(tokens)
        self._literals = [Literal(**fields) for fields in config.get("added_tokens", [])]
        # Text never becomes a special token, not even where merges lead to its literal.
        specials = {literal.content.encode("utf-8") for literal in self._literals if literal.special}
        self._ranks = {pair: rank for rank, pair in enumerate(merges) if b"".join(pair) not in specials}
        self._merge = merge
        self._model: dict[str, Any] = config.get("model", {"type": "byte_bpe"})
        self._decoder: list[dict[str, Any]] = config.get("decoder", [])
        self._normalizer: list[dict[str, Any]] = config.get("normalizer", [])
        self._pretokenizer: list[dict[str, Any]] = config.get("pretokenizer", [])
        self._rewrites = any(stage["type"] in REWRITES for stage in self._pretokenizer)
        self._prefix_space: bool = config.get("prefix_space", False)
        self._ignore_merges: bool = config.get("ignore_merges", False)
        self._prefix_ids: list[int] = config.get("prefix_ids", [])
        self._suffix_ids: list[int] = config.get("suffix_ids", [])
        # An added token is never what ordinary text becomes, unless merges lead there.
        added = {literal.id for literal in self._literals}
        products = {left + right for left, right in merges}
        self._ids = {
            token: id for id, token in self._tokens.items() if id not in added or token in products or len(token) == 1
        }

        self._of_text: ReferenceModel | None = None
        if self._model["type"] != "byte_bpe":
            # Text never becomes a special token, but for the bytes of characters that are no entries.
            if self._model.get("byte_fallback", False):
                specials -= {b"<0x%02X>" % byte for byte in range(256)}
            texts = {id: token.decode() for id, token in self._tokens.items() if token not in specials}
            entries = {text: id for id, text in texts.items()}
            parts = [(left.decode(), right.decode()) for left, right in merges]
            self._of_text = ReferenceModel(self._model, entries, parts, scores)

    @classmethod
    def of(cls, tokenizer: Tokenizer, merge: Callable[[bytes, Ranks], list[bytes]] = merge_heap) -> ReferenceTokenizer:
        """Take another tokenizer's public data and none of its algorithms."""
        config = json.loads(tokenizer.config.to_json())
        return cls(tokens_of(tokenizer), tokenizer.merges, config, merge, tokenizer.scores)

    @property
    def known_ids(self) -> frozenset[int]:
        """Every id that can be decoded."""
        return frozenset(self._tokens)

    def pieces(self, text: str) -> list[str]:
        """Cut a text that holds no added token."""
        text = self._with_space(normalize(self._normalizer, text))
        return [text[start:end] for start, end in self._places(text)]

    def encode(self, text: str, *, special_tokens: str = "reject", add_special_tokens: bool = False) -> list[int]:
        """Encode a text.

        Raises:
            ReservedLiteralError: a special literal is in the text under ``"reject"``.
        """
        found = self._encode(text, special_tokens, in_source=False)
        return self._wrap([id for id, _, _ in found], self._prefix_ids, self._suffix_ids, add_special_tokens)

    def offsets(
        self, text: str, unit: str = "char", *, special_tokens: str = "reject", add_special_tokens: bool = False
    ) -> list[tuple[int, int]]:
        """Give every id its span; ids that a template adds are empty at the end they stand at.

        Raises:
            ValueError: a pretokenizer rewrites the text, and where its characters come from is not known here.
        """
        if self._rewrites:
            raise ValueError("spans are not known where a pretokenizer rewrites the text")
        spans = in_unit(
            text, [(start, end) for _, start, end in self._encode(text, special_tokens, in_source=True)], unit
        )
        (end,) = {last for _, last in in_unit(text, [(0, len(text.encode("utf-8")))], unit)}
        before, after = [(0, 0)] * len(self._prefix_ids), [(end, end)] * len(self._suffix_ids)
        return self._wrap(spans, before, after, add_special_tokens)

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """Join the bytes of all ids."""
        return b"".join(self._tokens[id] for id in ids)

    def decode(self, ids: Iterable[int]) -> str:
        """Decode the bytes of all ids, or what the decoder makes of their texts."""
        if self._decoder and self._decoder[0]["type"] == "sentence_piece":
            return self._decode_sentencepiece(list(ids), self._decoder[0])
        if self._decoder:
            return decoders.decode(self._decoder, [self._tokens[id].decode() for id in ids])
        return utf8.decode(self.decode_bytes(ids))

    def _decode_sentencepiece(self, ids: list[int], stage: Mapping[str, Any]) -> str:
        def kind(id: int) -> str:
            if id == stage["unk"]:
                return "unknown"
            is_byte = stage["byte_fallback"] and BYTE.fullmatch(self._tokens[id].decode())
            return "control" if id in stage["control"] else "byte" if is_byte else "normal"

        flags = {key: stage[key] for key in ("unk_surface", "dummy_prefix", "fold")}
        return sentencepiece.decode([self._tokens[id].decode() for id in ids], list(map(kind, ids)), **flags)

    def tokens_of(self, piece: str) -> list[tuple[int, int]]:
        """Return the ids of one piece, each with the number of bytes that it stands for.

        Raises:
            ValueError: a character has no token.
        """
        if self._of_text is not None:
            return self._of_text.tokens(piece)
        return [(id, len(self._tokens[id])) for id in self.encode_piece(piece.encode("utf-8"))]

    def encode_piece(self, piece: bytes) -> list[int]:
        """Merge one piece."""
        if self._ignore_merges and piece in self._ids:
            return [self._ids[piece]]
        return [self._ids[part] for part in self._merge(piece, self._ranks)]

    @staticmethod
    def _wrap(inner: list[_T], before: list[_T], after: list[_T], wanted: bool) -> list[_T]:
        return [*before, *inner, *after] if wanted else inner

    def _with_space(self, text: str) -> str:
        return " " + text if self._prefix_space and text and not text.startswith(" ") else text

    def _literals_of(self, policy: str, normalized: bool) -> list[Literal]:
        return [
            literal
            for literal in self._literals
            if literal.normalized == normalized and policy != "ordinary" and not (policy == "text" and literal.special)
        ]

    def _encode(self, text: str, policy: str, *, in_source: bool) -> list[Token]:
        """Encode; without ``in_source`` spans are places in the normalized text, which costs no search."""
        found: list[Token] = []
        for start, end, id in split(text, self._literals_of(policy, False), policy == "reject"):
            at, stretch = len(text[:start].encode("utf-8")), text[start:end]
            if id is not None:
                found.append((id, at, at + len(stretch.encode("utf-8"))))
                continue
            found += [
                (id, at + first, at + last)
                for id, first, last in self._encode_stretch(stretch, policy, begins=start == 0, in_source=in_source)
            ]
        return found

    def _encode_stretch(self, source: str, policy: str, *, begins: bool, in_source: bool) -> list[Token]:
        text = normalize(self._normalizer, source)
        literals = [
            literal._replace(content=normalize(self._normalizer, literal.content))
            for literal in self._literals_of(policy, True)
        ]
        found: list[Token] = []
        for start, end, id in split(text, literals, policy == "reject"):
            at, stretch = len(text[:start].encode("utf-8")), text[start:end]
            if id is not None:
                found.append((id, at, at + len(stretch.encode("utf-8"))))
            else:
                plain = self._encode_plain(stretch, begins and start == 0)
                found += [(id, at + first, at + last) for id, first, last in plain]
        return found if text == source or not in_source else self._in_source(source, text, found)

    def _encode_plain(self, text: str, begins: bool) -> list[Token]:
        if self._rewrites:
            pieces = rewritten(self._pretokenizer, text, begins=begins)
            return [(id, 0, len(text.encode("utf-8"))) for piece in pieces for id, _ in self.tokens_of(piece)]
        spaced = self._with_space(text)
        inserted = len(spaced) - len(text)
        found = []
        for first, last in self._places(spaced):
            at = len(spaced[:first].encode("utf-8")) - inserted
            for id, length in self.tokens_of(spaced[first:last]):
                found.append((id, max(at, 0), at + length))
                at += length
        return found

    def _places(self, text: str) -> list[tuple[int, int]]:
        return places(self._pretokenizer, text, drops=self._model["type"] != "byte_bpe")

    def _in_source(self, source: str, text: str, found: list[Token]) -> list[Token]:
        cuts = byte_cuts(source, text, clean_cuts(self._normalizer, source))
        moved = []
        for id, start, end in found:
            first = max(there for there, here in cuts if here <= start)
            last = min(there for there, here in cuts if here >= end)
            moved.append((id, first, max(first, last)))
        return moved


def tokens_of(tokenizer: Tokenizer) -> dict[int, bytes]:
    """Return the bytes of every id, those of added tokens included; holes are left out."""
    tokens = {}
    for id in range(tokenizer.vocab_size):
        with suppress(UnknownTokenId):
            tokens[id] = tokenizer.token_bytes(id)
    return tokens
