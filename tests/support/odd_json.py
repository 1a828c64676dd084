"""JSON as any program might write it: escapes that no writer would choose, and white space everywhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

Draw = Callable[[Any], Any]

SPACE = st.text(" \t\r\n", max_size=3)


def escaped(text: str, draw: Draw) -> str:
    """Write a string with escapes that no writer would choose, and now and then one that is none."""
    written = []
    for letter in text:
        way = draw(st.integers(0, 9))
        if way == 0:
            units = letter.encode("utf-16-be", "surrogatepass")
            written.append("".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2)))
        elif way == 1 and letter in '"\\/':
            written.append("\\" + letter)
        elif way == 2:
            written.append(json.dumps(letter)[1:-1])
        else:
            written.append(json.dumps(letter, ensure_ascii=False)[1:-1])
    written.append(draw(st.sampled_from([""] * 30 + ["\\ud800", "\\ud83d\\u0041", "\\x", "\n", "\\u12", "\ud800"])))
    return '"' + "".join(written) + '"'


def written(value: Any, draw: Draw) -> str:
    """Write any value, with white space before and behind, and now and then a key twice."""
    before, after = draw(SPACE), draw(SPACE)
    if isinstance(value, str):
        return before + escaped(value, draw) + after
    if isinstance(value, list):
        return f"{before}[{','.join(written(item, draw) for item in value)}]{after}"
    if isinstance(value, dict):
        items = list(value.items())
        if items and draw(st.integers(0, 14)) == 0:
            items.append(draw(st.sampled_from(items)))
        fields = (f"{draw(SPACE)}{escaped(key, draw)}{draw(SPACE)}:{written(item, draw)}" for key, item in items)
        return f"{before}{{{','.join(fields)}}}{after}"
    return before + json.dumps(value) + after
