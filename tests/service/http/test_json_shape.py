"""What a body holds is counted in the kernel as a slow reader counts it, whether or not it is JSON."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from tokenizer_core import count_json

Counted = tuple[int, int, int, int, int, int]


def slowly(body: bytes) -> Counted:
    """Return commas, lists, objects, fields, strings and depth, one byte after the other."""
    counts = dict.fromkeys(b',[{:"', 0)
    depth = deepest = 0
    in_string = escaped = False
    for byte in body:
        if in_string:
            in_string = escaped or byte != ord('"')
            escaped = not escaped and byte == ord("\\")
            continue
        if byte in counts:
            counts[byte] += 1
        in_string = byte == ord('"')
        depth += (byte in b"[{") - (byte in b"]}" and depth > 0)
        deepest = max(deepest, depth)
    return (*(counts[byte] for byte in b',[{:"'), deepest)


@given(st.lists(st.sampled_from([*'[]{}:,"\\ a', "\n", "é", "x" * 40, '"' + "y" * 70])).map("".join))
@example('"\\')
@example('"' + "\\" * 33 + '"[')
@example("]]}}[[")
def test_marks_in_any_order(text: str) -> None:
    assert count_json(text.encode()) == slowly(text.encode())


@given(st.binary(max_size=300))
def test_any_bytes(body: bytes) -> None:
    assert count_json(body) == slowly(body)


@given(
    st.recursive(st.none() | st.floats() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
)
def test_json(value: Any) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=2)):
        body = text.encode("utf-8", "surrogatepass")
        assert count_json(body) == slowly(body)
