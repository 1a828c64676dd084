"""Point 9: the span of a token, cut out of the text, is the token."""

from __future__ import annotations

from itertools import accumulate
from typing import Any, get_args

from tokenizer_core.checking.report import MAX_EXAMPLES, Finding, excerpt, failed, passed
from tokenizer_core.checking.texts import hard, prose
from tokenizer_core.config import Unit
from tokenizer_core.encoding_options import SpecialTokens
from tokenizer_core.tokenizer import Tokenizer

UNITS: tuple[Unit, ...] = get_args(Unit)


def offsets(tokenizer: Tokenizer) -> Finding:
    """Check the spans of every text, in every unit, against the bytes of its tokens.

    Where a normalizer changed the text, spans must still be in order and inside it.
    """
    named = {**hard(tokenizer), **prose(tokenizer)}
    texts: list[tuple[str, str, SpecialTokens]] = [(name, text, "text") for name, text in named.items()]
    texts += [(literal, f"é {literal} 👍", "parse") for literal in tokenizer.special_tokens]
    broken: list[dict[str, Any]] = []
    spans = 0
    for name, text, policy in texts:
        ids = tokenizer.encode(text, special_tokens=policy)
        for unit in UNITS:
            found = tokenizer.offsets(text, unit=unit, special_tokens=policy)
            spans += len(found.spans)
            problem = (
                "the ids are not those of encode"
                if found.ids.tolist() != ids.tolist()
                else _problem(tokenizer, text, unit, found.ids.tolist(), found.spans.tolist())
            )
            if problem:
                broken.append({"text": excerpt(name), "unit": unit, "problem": problem})
    if broken:
        return failed(
            f"the spans of {len(broken)} texts do not lead back, first: {broken[0]['text']} in {broken[0]['unit']}: "
            f"{broken[0]['problem']}",
            spans=spans,
            broken=broken[:MAX_EXAMPLES],
        )
    return passed(f"{spans:,} spans in bytes, characters and UTF-16 units lead back to their tokens", spans=spans)


def _problem(tokenizer: Tokenizer, text: str, unit: Unit, ids: list[int], spans: list[list[int]]) -> str | None:
    data = text.encode()
    tokens = [tokenizer.token_bytes(id) or b"" for id in ids]
    positions = _positions(text, unit)
    if b"".join(tokens) == data:
        ends = list(accumulate(map(len, tokens)))
        for index, (start, end, span) in enumerate(zip([0, *ends], ends, spans, strict=False)):
            expected = [positions[0][start], positions[1][end]]
            if span != expected:
                return f"token {index} has the span {span}, not {expected}"
        return None
    limit = positions[1][len(data)]
    last = 0
    for index, (start, end) in enumerate(spans):
        if not last <= start <= end <= limit:
            return f"token {index} has the span {[start, end]}, out of order or outside the text"
        last = start
    return None


def _positions(text: str, unit: Unit) -> tuple[list[int], list[int]]:
    """Return the unit's position by byte: of the character of the byte, and of the next full one."""
    floor: list[int] = []
    ceiling: list[int] = [0]
    position = 0
    for character in text:
        size = len(character.encode())
        if unit == "byte":
            floor += range(position, position + size)
            ceiling += range(position + 1, position + size + 1)
            position += size
            continue
        width = 2 if unit == "utf16" and ord(character) > 0xFFFF else 1
        floor += [position] * size
        ceiling += [position + width] * size
        position += width
    return [*floor, position], ceiling
