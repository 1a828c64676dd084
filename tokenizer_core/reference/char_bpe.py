"""BPE over characters: a symbol for each, then the merge of the lowest order, leftmost first, again and again."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

Symbol = tuple[int, int]
"""An id, and how many bytes of the piece it stands for."""


def char_bpe(
    piece: str,
    entries: Mapping[str, int],
    orders: Mapping[tuple[int, int], tuple[int, int]],
    model: Mapping[str, Any],
) -> list[Symbol]:
    """Return the ids of a piece.

    Args:
        orders: how early two ids are joined, and what they become.
        model: the settings of ``CharBpe``.

    Raises:
        ValueError: a character has no token, and there is no unknown one.
    """
    symbols = _symbols(piece, entries, model)
    while True:
        joins = [(orders.get((left[0], right[0])), at) for at, (left, right) in enumerate(pairwise(symbols))]
        known = [(join[0], at, join[1]) for join, at in joins if join is not None]
        if not known:
            return symbols
        _, at, product = min(known)
        symbols[at : at + 2] = [(product, symbols[at][1] + symbols[at + 1][1])]


def _symbols(piece: str, entries: Mapping[str, int], model: Mapping[str, Any]) -> list[Symbol]:
    symbols: list[Symbol] = []
    unknown = 0
    for at, character in enumerate(piece):
        before = model["prefix"] if at else ""
        after = model["suffix"] if at == len(piece) - 1 else ""
        length = len(character.encode("utf-8"))
        id = entries.get(before + character + after)
        if id is not None:
            symbols += [(model["unk"], unknown)] * (unknown > 0)
            symbols.append((id, length))
            unknown = 0
            continue
        names = [f"<0x{byte:02X}>" for byte in (before + character + after).encode("utf-8")]
        if model["byte_fallback"] and all(name in entries for name in names):
            first = len(before.encode("utf-8"))
            inside = range(first, first + length)
            symbols += [(entries[name], int(index in inside)) for index, name in enumerate(names)]
            continue
        if model["unk"] is None:
            raise ValueError(f"no token for {character!r}")
        if unknown and not model["fuse_unk"]:
            symbols.append((model["unk"], unknown))
            unknown = 0
        unknown += length
    return symbols + [(model["unk"], unknown)] * (unknown > 0)
