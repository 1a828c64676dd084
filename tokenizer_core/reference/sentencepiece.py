"""SentencePiece around its models: what it does to a text before, into what it cuts it, and how it decodes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

SPACE = "▁"
REPLACEMENT = "\ufffd"


def normalize(
    text: str,
    rules: Mapping[str, str],
    symbols: Collection[str] = (),
    *,
    dummy_prefix: bool = True,
    suffix: bool = False,
    fold: bool = True,
    escape: bool = True,
) -> str:
    """Rewrite a text: the longest symbol or rule at each place, and spaces by the flags of the model."""
    longest = max(map(len, [*rules, *symbols]), default=1)
    units = []
    while text:
        starts = [text[:length] for length in range(min(longest, len(text)), 0, -1)]
        symbol = next((start for start in starts if start in symbols), None)
        key = next((start for start in starts if start in rules), text[0]) if symbol is None else symbol
        units.append(key if symbol is not None else rules.get(key, key))
        text = text[len(key) :]
    if fold:
        while units and units[0] == " ":
            units.pop(0)
    if not units:
        return ""
    space = SPACE if escape else " "
    output = space if dummy_prefix and not suffix else ""
    after_space = fold
    for unit in units:
        kept = unit.lstrip(" ") if after_space else unit
        output += kept.replace(" ", space)
        after_space = (kept.endswith(" ") if kept else after_space) and fold
    if fold:
        while output.endswith(space):
            output = output.removesuffix(space)
    return output + (space if dummy_prefix and suffix else "")


def decode(
    pieces: Sequence[str],
    kinds: Sequence[str],
    *,
    unk_surface: str = " ⁇ ",
    dummy_prefix: bool = True,
    fold: bool = True,
) -> str:
    """Join pieces, each of the kind ``normal``, ``control``, ``unknown`` or ``byte``."""
    text, held, strips = "", b"", dummy_prefix or fold
    for piece, kind in zip(pieces, kinds, strict=True):
        if kind == "byte":
            held += bytes.fromhex(piece[3:5])
            continue
        text, held = text + decode_bytes(held), b""
        strips = strips and not text
        if kind == "control":
            continue
        if kind == "unknown":
            text += unk_surface
            continue
        if strips and piece.startswith(SPACE):
            piece, strips = piece.removeprefix(SPACE), fold
        text += piece.replace(SPACE, " ")
    return text + decode_bytes(held)


def decode_bytes(data: bytes) -> str:
    """Decode UTF-8; each byte that begins no character becomes U+FFFD."""
    text = ""
    while data:
        for length in range(1, 5):
            try:
                text += data[:length].decode()
            except UnicodeDecodeError:
                continue
            data = data[length:]
            break
        else:
            text, data = text + REPLACEMENT, data[1:]
    return text


def symbols(text: str, unit: str, user_defined: Collection[str]) -> list[str]:
    """Cut a text into characters, and the symbols that are found before them, longest first; or into words.

    These are what its models over characters and words look up: each is an entry, or unknown.
    """
    if unit == "word":
        starts = [at for at, character in enumerate(text) if at == 0 or character == SPACE]
        return [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    found = []
    while text:
        symbol = max((symbol for symbol in user_defined if text.startswith(symbol)), key=len, default=text[0])
        found.append(symbol)
        text = text[len(symbol) :]
    return found
