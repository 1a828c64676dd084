"""The models but byte-level BPE: a piece becomes ids, each with the number of bytes that it stands for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tokenizer_core.reference.char_bpe import Symbol, char_bpe
from tokenizer_core.reference.score_bpe import score_bpe
from tokenizer_core.reference.sentencepiece import symbols
from tokenizer_core.reference.unigram import UNKNOWN_PENALTY, best_way
from tokenizer_core.reference.word_piece import word_piece

BYTE = re.compile("<0x[0-9A-F]{2}>")
"""The entry of a byte, which characters that are no entries become."""

_BONUS = 0.1
"""The score that SentencePiece gives a user-defined symbol for each byte behind its first."""


class ReferenceModel:
    """A model by its definition.

    Args:
        model: as ``PipelineConfig`` has it.
        entries: ids of what text can become.
        merges: the two parts of each merge, lowest rank first.
        scores: by id, or nothing.
    """

    def __init__(
        self,
        model: Mapping[str, Any],
        entries: Mapping[str, int],
        merges: Sequence[tuple[str, str]],
        scores: Sequence[float],
    ) -> None:
        self._model = model
        reserved = set(model.get("reserved", ()))
        self._bytes = {text: id for text, id in entries.items() if BYTE.fullmatch(text)}
        self._entries = {text: id for text, id in entries.items() if id not in reserved}
        self._texts = {id: text for text, id in entries.items()}
        self._scores = scores
        self._user_defined = [self._texts[id] for id in model.get("user_defined", ()) if id in self._texts]
        prefix = model.get("prefix", "")
        self._orders: dict[tuple[int, int], tuple[int, int]] = {}
        for rank, (left, right) in enumerate(merges):
            product = left + right.removeprefix(prefix)
            if left in entries and right in entries and product in entries:
                self._orders.setdefault((entries[left], entries[right]), (rank, entries[product]))

    def tokens(self, piece: str) -> list[Symbol]:
        """Return the tokens of a piece.

        Raises:
            ValueError: the model is not known here, or a character has no token.
        """
        model = self._model
        match model["type"]:
            case "word_level":
                return [(self._entries.get(piece, model["unk"]), _size(piece))]
            case "word_piece":
                found, at = [], 0
                settings = {"unk": model["unk"], "prefix": model["prefix"], "max_chars": model["max_chars"]}
                for id, length in word_piece(piece, self._entries, **settings):
                    found.append((id, _size(piece[at : at + length])))
                    at += length
                return found
            case "char_bpe" if model.get("by_score", False):
                unused = {self._texts[id] for id in model.get("unused", ())}
                scores = {text: self._scores[id] for text, id in self._entries.items()}
                parts = score_bpe(symbols(piece, "char", self._user_defined), scores, self._user_defined, unused)
                return self._known([(part, None if part in unused else self._entries.get(part)) for part in parts])
            case "char_bpe":
                none = {"unk": None, "fuse_unk": False, "byte_fallback": False, "prefix": "", "suffix": ""}
                return char_bpe(piece, self._entries | self._bytes, self._orders, {**none, **model})
            case "unigram":
                floats = model["sums"] == "float"
                scores, unknown = self._unigram_scores()
                ways = best_way(piece, scores, floats=floats, unknown_score=unknown)
                return self._known([(text, self._entries[text] if known else None) for text, known in ways])
            case "symbols":
                parts = symbols(piece, model["unit"], self._user_defined)
                return self._known([(part, self._entries.get(part)) for part in parts])
        raise ValueError(f"unknown model {model['type']!r}")

    def _unigram_scores(self) -> tuple[dict[str, float], float]:
        """Return the scores of all entries, and that of an unknown character."""
        defined, reserved = set(self._model["user_defined"]), set(self._model["reserved"])
        normal = [score for id, score in enumerate(self._scores) if id not in defined | reserved]
        kind = np.float32 if self._model["sums"] == "float" else np.float64
        unknown = float(kind(min(normal, default=np.finfo(np.float32).max)) - kind(UNKNOWN_PENALTY))
        scores = {text: self._scores[id] for text, id in self._entries.items()}
        scores |= {text: _BONUS * (_size(text) - 1) for text, id in self._entries.items() if id in defined}
        return scores, unknown

    def _known(self, found: list[tuple[str, int | None]]) -> list[Symbol]:
        """Give what is no entry its bytes, or the unknown token, one for neighbours."""
        tokens: list[Symbol] = []
        unk, after_unknown = self._model["unk"], False
        for text, id in found:
            data = text.encode("utf-8")
            names = [f"<0x{byte:02X}>" for byte in data]
            if id is not None:
                tokens.append((id, len(data)))
            elif self._model["byte_fallback"] and all(name in self._bytes for name in names):
                tokens += [(self._bytes[name], 1) for name in names]
            elif unk is None:
                raise ValueError(f"no token for {text!r}")
            elif after_unknown:
                tokens[-1] = (unk, tokens[-1][1] + len(data))
            else:
                tokens.append((unk, len(data)))
            after_unknown = id is None
        return tokens


def _size(text: str) -> int:
    return len(text.encode("utf-8"))
