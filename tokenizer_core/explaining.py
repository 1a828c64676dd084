"""The steps from a piece to its ids: merges by rank, longest matches, or the best way through a lattice.

The cut into pieces is the kernel's. The steps are taken slowly, one by one, and their ids are held against those of the
kernel before anything is answered: a text whose steps are not known exactly is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import pairwise
from typing import Any

from tokenizer_core.arguments import check_unicode
from tokenizer_core.errors import InvalidOption
from tokenizer_core.stages import Model
from tokenizer_core.tokenizer import Tokenizer

MAX_EXPLAINED = 512
"""Characters of a text: a piece of ``n`` takes ``n * n`` steps."""

UNKNOWN_PENALTY = 10.0
"""The score of the worst entry less that of an unknown character, in SentencePiece and in Hugging Face."""

Steps = dict[str, Any]


class Explainer:
    """Explain how a tokenizer cuts texts; its tables are built once.

    Raises:
        InvalidOption: the steps of this family are not known.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        model = tokenizer.config.model
        if model.type not in ("byte_bpe", "char_bpe", "unigram", "word_piece"):
            name = model.type.title().replace("_", "")
            raise InvalidOption(f"a model {name} has no steps to show: it looks its pieces up", field="tokenizer")
        self._tokenizer, self._model = tokenizer, model
        self._vocabulary = tokenizer.parts.vocabulary
        self._by_score = model.type == "char_bpe" and model.by_score

    def explain(self, text: str) -> list[Steps]:
        """Return the pieces of a text in order, each with ``text``, ``kind``, ``ids`` and its steps.

        No added token is looked for in the text.

        - ``kind`` ``"merges"``: ``start``, the symbols, and ``merges`` with ``rank`` (or ``score``, where the highest
          comes first), ``at`` (the left symbol's place when it is done) and ``token``; ``whole`` is a piece that is
          taken as it is.
        - ``"matches"``: ``start`` and ``end`` in characters of the piece, and ``token``.
        - ``"lattice"``: ``edges`` with ``start``, ``end``, ``score`` and ``token``, ``best`` sums by place, and
          ``path``, the places in the list of edges that were chosen.

        Raises:
            InvalidOption: the text is longer than ``MAX_EXPLAINED``, or its steps are not known exactly.
            InvalidUnicode, StepLimit, UncoveredText
        """
        check_unicode(text, "text")
        if len(text) > MAX_EXPLAINED:
            message = f"this has {len(text)} characters; steps are shown for {MAX_EXPLAINED} at most, send a part of it"
            raise InvalidOption(message, field="text")
        expected = self._tokenizer.encode(text, special_tokens="ordinary").tolist()
        pieces = [self._explain_piece(piece) for piece in self._tokenizer.pieces(text)]
        if [id for piece in pieces for id in piece["ids"]] != expected:
            message = "the steps of this text are not known exactly: it has characters that this vocabulary lacks"
            raise InvalidOption(message, field="text")
        return pieces

    def _explain_piece(self, piece: str) -> Steps:
        match self._model.type:
            case "word_piece":
                steps = self._matches(piece, self._model)
            case "unigram":
                steps = self._lattice(piece)
            case _:
                steps = self._merges(piece)
        return {"text": piece, **steps}

    def _merges(self, piece: str) -> Steps:
        symbols = self._symbols(piece)
        if self._tokenizer.config.ignore_merges and (whole := self._ids.get(piece.encode("utf-8"))) is not None:
            return {
                "kind": "merges",
                "ids": [whole],
                "start": list(map(self._token, symbols)),
                "merges": [],
                "whole": self._token(whole),
            }
        start = list(map(self._token, symbols))
        merges: list[dict[str, Any]] = []
        while True:
            joins = ((self._join(*pair), at) for at, pair in enumerate(pairwise(symbols)))
            known = [(join[0], at, join[1]) for join, at in joins if join is not None]
            if not known:
                return {"kind": "merges", "ids": symbols, "start": start, "merges": merges}
            order, at, product = min(known)
            symbols[at : at + 2] = [product]
            told = {"score": -order} if self._by_score else {"rank": order}
            merges.append({**told, "at": at, "token": self._token(product)})

    def _join(self, left: int, right: int) -> tuple[float, int] | None:
        """Return how early two neighbours are joined, the least first, and what they become."""
        if not self._by_score:
            return self._ranks.get((left, right))
        parts = self._vocabulary.token_bytes(left), self._vocabulary.token_bytes(right)
        product = None if None in parts else self._ids.get(b"".join(part or b"" for part in parts))
        return None if product is None else (-self._scores[product], product)

    def _symbols(self, piece: str) -> list[int]:
        if self._model.is_byte_bpe:
            return [self._ids[bytes([byte])] for byte in piece.encode("utf-8")]
        symbols: list[int] = []
        for at, character in enumerate(piece):
            entry = (self._model.prefix if at else "") + character
            entry += self._model.suffix if at == len(piece) - 1 else ""
            id = self._ids.get(entry.encode("utf-8"))
            symbols += [id] if id is not None else self._fallback(entry)
        return symbols

    def _fallback(self, entry: str) -> list[int]:
        """Return the ids of the bytes of what is no entry, or that of the unknown token."""
        model = self._model
        found = [self._byte_ids.get(b"<0x%02X>" % byte) for byte in entry.encode("utf-8")]
        ids = [id for id in found if id is not None]
        if model.byte_fallback and len(ids) == len(found):
            return ids
        return [] if model.unk is None else [model.unk]

    def _matches(self, piece: str, model: Model) -> Steps:
        matches: list[dict[str, Any]] = []
        at = 0
        while at < len(piece) <= model.max_chars:
            for end in range(len(piece), at, -1):
                id = self._ids.get(((model.prefix if at else "") + piece[at:end]).encode("utf-8"))
                if id is not None:
                    matches.append({"start": at, "end": end, "token": self._token(id)})
                    at = end
                    break
            else:
                break
        ids = [each["token"]["id"] for each in matches]
        if at < len(piece) and model.unk is not None:
            ids = [model.unk]
        return {"kind": "matches", "ids": ids, "matches": matches, "unknown": at < len(piece)}

    def _lattice(self, piece: str) -> Steps:
        edges: list[dict[str, Any]] = []
        best: list[tuple[float, int] | None] = [(0.0, -1), *([None] * len(piece))]
        for start, character in enumerate(piece):
            here = best[start]
            ways: list[tuple[int, int | None, float]] = [
                (end, *self._scored[entry])
                for end in range(start + 1, min(start + self._longest, len(piece)) + 1)
                if (entry := piece[start:end]) in self._scored
            ]
            if character not in self._scored:
                ways.append((start + 1, None, self._unknown_score))
            for end, id, score in ways:
                token = None if id is None else self._token(id)
                edges.append({"start": start, "end": end, "score": score, "token": token})
                total, other = score + (here[0] if here else 0.0), best[end]
                if other is None or total > other[0]:
                    best[end] = (total, len(edges) - 1)
        path: list[int] = []
        at = len(piece)
        while at and (way := best[at]) is not None:
            path.insert(0, way[1])
            at = edges[way[1]]["start"]
        return {
            "kind": "lattice",
            "ids": self._ids_of_path(piece, [edges[index] for index in path]),
            "edges": edges,
            "best": [way[0] for way in best if way is not None],
            "path": path,
        }

    def _ids_of_path(self, piece: str, path: list[dict[str, Any]]) -> list[int]:
        ids: list[int] = []
        unknown = False
        for edge in path:
            if edge["token"] is not None:
                ids.append(edge["token"]["id"])
                unknown = False
                continue
            found = self._fallback(piece[edge["start"] : edge["end"]])
            # Unknown characters that stand next to each other are one token.
            is_unknown = self._model.type == "unigram" and found == [self._model.unk]
            ids += [] if unknown and is_unknown else found
            unknown = is_unknown
        return ids

    def _token(self, id: int) -> dict[str, Any]:
        data = self._tokenizer.token_bytes(id)
        return {"id": id, "text": data.decode("utf-8", "replace"), "bytes": data.hex()}

    @cached_property
    def _specials(self) -> frozenset[int]:
        """Ids that text never becomes; a single byte must stay a token."""
        return frozenset(token.id for token in self._tokenizer.added_tokens if token.special and len(token.content) > 1)

    @cached_property
    def _entries(self) -> Mapping[bytes, int]:
        found = ((id, self._vocabulary.token_bytes(id)) for id in range(self._vocabulary.id_limit))
        return {data: id for id, data in found if data is not None}

    @cached_property
    def _ids(self) -> Mapping[bytes, int]:
        """The ids of the entries that text may become."""
        reserved = self._specials | set(getattr(self._model, "reserved", ()))
        return {data: id for data, id in self._entries.items() if id not in reserved}

    @cached_property
    def _byte_ids(self) -> Mapping[bytes, int]:
        """The ids of entries such as ``<0x0A>``, which no text is, but the bytes of what is no entry."""
        return {data: id for data, id in self._entries.items() if len(data) == 6 and data.startswith(b"<0x")}

    @cached_property
    def _ranks(self) -> Mapping[tuple[int, int], tuple[int, int]]:
        """The rank and the product of each merge."""
        merges = enumerate(self._vocabulary.merge_ids())
        return {(left, right): (rank, id) for rank, (left, right, id) in merges if id not in self._specials}

    @cached_property
    def _scores(self) -> list[float]:
        return self._vocabulary.scores()

    @cached_property
    def _scored(self) -> Mapping[str, tuple[int, float]]:
        scores = self._scores
        left_out = {self._model.unk} if self._model.type == "unigram" else set()
        return {data.decode("utf-8"): (id, scores[id]) for data, id in self._ids.items() if id not in left_out}

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self._scored), default=1)

    @cached_property
    def _unknown_score(self) -> float:
        return min((score for _, score in self._scored.values()), default=0.0) - UNKNOWN_PENALTY
