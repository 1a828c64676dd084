"""A required field that is missing is looked for among what the caller sent."""

from __future__ import annotations

import pytest

from service.errors import ServiceError
from service.http.mistyped import name_mistyped

FIELDS = ("model", "prompt", "messages")


@pytest.mark.parametrize(
    ("body", "path", "wrong"),
    [
        (b'{"model": "m", "text": "a"}', "prompt", "text"),
        (b'{"model": "m", "promt": "a"}', "prompt", "promt"),
        (b'{"message": []}', "messages", "message"),
        (b'{"messages": [{"role": "user"}, {"role": "user", "contnet": "a"}]}', "messages[1].content", "contnet"),
    ],
)
def test_what_was_meant_is_named(body: bytes, path: str, wrong: str) -> None:
    error = ServiceError("missing_field", "this field is required", path)
    name_mistyped(error, body, FIELDS)
    right = path.rpartition(".")[2]
    assert error.detail == f"this field is required; {wrong!r} is not a field; did you mean {right!r}?"
    assert (error.code, error.path) == ("missing_field", path)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (b'{"model": "m"}', "prompt"),
        (b'{"model": "m", "colour": "red"}', "prompt"),
        (b'{"messages": [{"role": "user", "name": "a"}]}', "messages[0].content"),
        (b'{"messages": []}', "messages[3].content"),
        (b'{"messages": "a"}', "messages[0].content"),
        (b"[]", "prompt"),
        (b"{", "prompt"),
        (b"[" * 100_000, "prompt"),
        (b'{"prompt": 5, "text": "a"}', "prompt"),
    ],
)
def test_nothing_is_guessed(body: bytes, path: str) -> None:
    error = ServiceError("missing_field", "this field is required", path)
    name_mistyped(error, body, FIELDS)
    assert (error.code, error.detail, error.path) == ("missing_field", "this field is required", path)
