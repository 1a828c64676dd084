"""The 256 printable characters that stand for bytes in GPT-2's vocabulary files."""

from __future__ import annotations


def byte_to_character() -> dict[int, str]:
    """Give every byte a printable character: itself where Latin-1 prints one, else the next from U+0100 on.

    A space becomes ``Ġ`` and a newline ``Ċ``, so that a file of tokens separated by spaces and lines can hold both.
    """
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    table = {byte: chr(byte) for byte in printable}
    others = [byte for byte in range(256) if byte not in table]
    return table | {byte: chr(0x100 + place) for place, byte in enumerate(others)}


def to_entry(token: bytes) -> str:
    """Write a token's bytes as the file has them."""
    table = byte_to_character()
    return "".join(table[byte] for byte in token)


def from_entry(entry: str) -> bytes:
    """Read a token's bytes from the file's form.

    Raises:
        KeyError: a character is outside the alphabet.
    """
    table = {character: byte for byte, character in byte_to_character().items()}
    return bytes(table[character] for character in entry)
