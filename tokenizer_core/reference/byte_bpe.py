"""Merge the bytes of a piece: by the definition, and with a priority queue over a linked list."""

from __future__ import annotations

import heapq
from collections.abc import Mapping

Ranks = Mapping[tuple[bytes, bytes], int]


def merge_scan(piece: bytes, ranks: Ranks) -> list[bytes]:
    """Look at every pair, merge that of lowest rank, the leftmost among equals, until no neighbours are a pair.

    Quadratic, and the definition that every other encoder is held against.
    """
    parts = [bytes([byte]) for byte in piece]
    while True:
        candidates = [
            (ranks[parts[place], parts[place + 1]], place)
            for place in range(len(parts) - 1)
            if (parts[place], parts[place + 1]) in ranks
        ]
        if not candidates:
            return parts
        _, place = min(candidates)
        parts[place : place + 2] = [parts[place] + parts[place + 1]]


def merge_heap(piece: bytes, ranks: Ranks) -> list[bytes]:
    """Give ``merge_scan``'s answer in O(n log n).

    A part is known by the place of its first byte. A queue entry ``(rank, place, left, right)`` is stale when the parts
    it saw are not there any more; that is found out when it is popped, so nothing is ever searched in the queue.
    """
    parts: dict[int, bytes] = {place: bytes([byte]) for place, byte in enumerate(piece)}
    following = {place: place + 1 for place in parts}
    preceding = {place: place - 1 for place in parts}
    queue: list[tuple[int, int, bytes, bytes]] = []

    def offer(place: int) -> None:
        left, right = parts.get(place), parts.get(following.get(place, -1))
        if left is not None and right is not None and (left, right) in ranks:
            heapq.heappush(queue, (ranks[left, right], place, left, right))

    for place in range(len(piece) - 1):
        offer(place)
    while queue:
        _, place, left, right = heapq.heappop(queue)
        neighbour = following.get(place, -1)
        if parts.get(place) != left or parts.get(neighbour) != right:
            continue
        parts[place] = left + right
        del parts[neighbour]
        following[place] = following[neighbour]
        preceding[following[place]] = place
        offer(place)
        offer(preceding[place])
    return [parts[place] for place in sorted(parts)]
