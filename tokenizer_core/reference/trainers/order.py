"""The order of equally frequent pairs, and the number of merges."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tokenizer_core.reference.byte_alphabet import byte_to_character

Pair = tuple[bytes, bytes]
Trainer = Callable[[Mapping[bytes, int], "Order"], Iterator[tuple[Pair, int]]]


class Order:
    """Compare pairs by a named rule, and give every token its id: the bytes in GPT-2's order, then products as made."""

    def __init__(self, tie_break: str = "lexicographic_low") -> None:
        characters = byte_to_character()
        self.ids = {bytes([byte]): id for id, byte in enumerate(sorted(characters, key=characters.__getitem__))}
        keys: dict[str, Callable[[Pair], tuple[object, object]]] = {
            "lexicographic_low": lambda pair: pair,
            "lexicographic_high": lambda pair: (_backwards(pair[0]), _backwards(pair[1])),
            "lowest_ids": lambda pair: (self.ids[pair[0]], self.ids[pair[1]]),
            "shortest": lambda pair: ((len(pair[0] + pair[1]), pair[0] + pair[1]), pair),
        }
        self._key = keys[tie_break]

    def add(self, token: bytes) -> None:
        """Give a product its id, if no other merge has made the same token before."""
        self.ids.setdefault(token, len(self.ids))

    def key(self, pair: Pair, count: int) -> tuple[object, ...]:
        """Return what is least for the pair to be merged first."""
        return (-count, *self._key(pair))


def learn(
    trainer: Trainer, words: Mapping[bytes, int], vocab_size: int, tie_break: str = "lexicographic_low", least: int = 1
) -> list[Pair]:
    """Take merges until there are ``vocab_size`` tokens, or no pair occurs ``least`` times.

    A token that is made by two merges can bring a pair back that was merged before: that is not a new merge.
    """
    order = Order(tie_break)
    merges: dict[Pair, None] = {}
    for pair, count in trainer(words, order):
        if len(order.ids) >= vocab_size or count < least:
            break
        merges[pair] = None
    return list(merges)


def _backwards(token: bytes) -> tuple[int, ...]:
    """Return what compares the other way round: a longer token is before the shorter one that it begins with."""
    return (*(255 - byte for byte in token), 256)
