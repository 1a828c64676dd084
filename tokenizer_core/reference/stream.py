"""Decode a stream of bytes to text."""

from __future__ import annotations

from tokenizer_core.reference.utf8 import decode, step


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
