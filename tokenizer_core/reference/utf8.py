"""Decode bytes to text, whole or as a stream, with U+FFFD for invalid UTF-8."""

from __future__ import annotations

_CONTINUATION = range(0x80, 0xC0)
# Table 3-7 of the Unicode standard: first byte, then what each following byte may be.
_WELL_FORMED: tuple[tuple[range, tuple[range, ...]], ...] = (
    (range(0x80), ()),
    (range(0xC2, 0xE0), (_CONTINUATION,)),
    (range(0xE0, 0xE1), (range(0xA0, 0xC0), _CONTINUATION)),
    (range(0xE1, 0xED), (_CONTINUATION, _CONTINUATION)),
    (range(0xED, 0xEE), (range(0x80, 0xA0), _CONTINUATION)),
    (range(0xEE, 0xF0), (_CONTINUATION, _CONTINUATION)),
    (range(0xF0, 0xF1), (range(0x90, 0xC0), _CONTINUATION, _CONTINUATION)),
    (range(0xF1, 0xF4), (_CONTINUATION, _CONTINUATION, _CONTINUATION)),
    (range(0xF4, 0xF5), (range(0x80, 0x90), _CONTINUATION, _CONTINUATION)),
)


def step(data: bytes) -> tuple[int, str]:
    """Look at the beginning of ``data``, which is not empty: how many bytes belong together, and what they are.

    The kind is ``"character"``, ``"invalid"`` (a maximal subpart, or a byte that begins nothing) or ``"incomplete"``
    (the data ends in the middle of what may still become a character).
    """
    for firsts, rest in _WELL_FORMED:
        if data[0] not in firsts:
            continue
        for place, allowed in enumerate(rest, start=1):
            if place == len(data):
                return place, "incomplete"
            if data[place] not in allowed:
                return place, "invalid"
        return 1 + len(rest), "character"
    return 1, "invalid"


def decode(data: bytes) -> str:
    """Decode UTF-8; every maximal subpart of an ill-formed sequence becomes one U+FFFD."""
    text = []
    at = 0
    while at < len(data):
        size, kind = step(data[at : at + 4])
        text.append(data[at : at + size].decode("utf-8") if kind == "character" else "\ufffd")
        at += size
    return "".join(text)


def certain_text(data: bytes) -> tuple[str, bytes]:
    """Return the text that no further byte can change, and the bytes that are still open (at most three)."""
    at = 0
    while at < len(data):
        size, kind = step(data[at : at + 4])
        if kind == "incomplete":
            break
        at += size
    return decode(data[:at]), data[at:]


def stream(chunks: list[bytes]) -> tuple[list[str], str]:
    """Return what each chunk adds to the certain text, and what remains at the end."""
    added = []
    data = b""
    for chunk in chunks:
        before, _ = certain_text(data)
        data += chunk
        after, _ = certain_text(data)
        added.append(after.removeprefix(before))
    return added, decode(data).removeprefix("".join(added))
