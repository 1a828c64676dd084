"""The states of what a connection reads, as its module draws them: each start and event, and the states that follow."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from service.http.connection import Reading
from tests.support.connection import app, connected, request

KERNEL = request(b'{"text":"a"}')
NOT_PLAIN = request(b"{}")
LONG = request(b"a" * 99)
TASK = request(b"{}", line=b"POST /other HTTP/1.1")
OFFER = b"upgrade: h2c\r\nconnection: upgrade\r\n"
NO_LENGTH = b"transfer-encoding: chunked\r\n"
CHUNKED = request(b"2\r\n{}\r\n0\r\n\r\n", line=b"POST /other HTTP/1.1", length=NO_LENGTH)
END = b"the end of what the caller sends"
"""Not sent: the caller closes its side."""

LETTERS = {"I": "IDLE", "H": "HEAD", "F": "OFFER", "K": "KERNEL", "D": "DROP", "B": "BODY", "O": "OVER"}

HEADS = [
    # What a caller sends from IDLE on, and what follows.
    (KERNEL, "HKI"),
    (NOT_PLAIN, "HKBI"),
    (KERNEL[:-1], "HKB"),
    (KERNEL * 2, "HKIHKI"),
    (request(b'{"text":"a"}', headers=OFFER), "HFHKI"),
    (LONG, "HDI"),
    (LONG[:-1], "HD"),
    (LONG + KERNEL, "HDIHKI"),
    (TASK, "HBI"),
    (TASK[:-1], "HB"),
    (request(b"{}", line=b"POST /other HTTP/1.1", headers=OFFER), "HFHBI"),
    (CHUNKED, "HBI"),
    (KERNEL.replace(b"1.1", b"1.0"), "HBI"),
    (b"POST", "H"),
    (b"POST / HTTP/3.0\r\nhost: x\r\n\r\n", "HO"),
    (b"POST / HTTP/1.1\r\n\r\n", "HO"),
    (b"POST / HTTP/1.1\r\nx: " + b"y" * 70_000, "HO"),
]
BODIES = [
    # What was sent, what is sent then, and what follows.
    (TASK[:-1], TASK[-1:], "I"),
    (TASK[:-1], TASK[-1:] + TASK, "IHBI"),
    (TASK[:-2], TASK[-2:-1], ""),
    (CHUNKED[:-5], CHUNKED[-5:], "I"),
    (CHUNKED[:-5], b"no chunk\r\n", "O"),
    (CHUNKED[:-5], b"0\r\nx: " + b"y" * 70_000, "O"),
    (TASK[:-1], END, ""),
    (LONG[:-1], LONG[-1:], "I"),
    (LONG[:-2], LONG[-2:-1], ""),
    (LONG[:-1], LONG[-1:] + LONG, "IHDI"),
    (LONG[:-1], END, ""),
    (KERNEL, END, ""),
    (TASK, END, "O"),
    (KERNEL, b"\0", "HO"),
    (b"POST", b"\0", "O"),
    (b"\0", KERNEL, ""),
    (b"\0", END, ""),
]


class Routed:
    """An application whose kernel answers all but an empty object, and refuses what is long."""

    fast_paths: ClassVar = {
        b"/encode": SimpleNamespace(
            open=lambda *_: SimpleNamespace(),
            refusal=lambda _, headers: (b"", b"", (), 503) if (b"content-length", b"99") in headers else None,
            answer=lambda *given: None if given[-1] == b"{}" else (b"", b""),
        )
    }
    __call__ = staticmethod(app)


def follow(*sent: bytes) -> str:
    """Return the states that follow the last of what is sent, as letters."""
    states: list[Reading] = []

    async def story() -> None:
        connection, _ = connected(Routed())

        class Watched(type(connection)):  # type: ignore[misc]
            def __setattr__(self, name: str, value: Any) -> None:
                if name == "state":
                    states.append(value)
                super().__setattr__(name, value)

        connection.__class__ = Watched
        for part in sent:
            states.clear()
            if part is END:
                connection.eof_received()
            else:
                connection.data_received(part)
        connection.connection_lost(None)

    asyncio.run(story())
    letters = {name: letter for letter, name in LETTERS.items()}
    return "".join(letters[state.name] for state in states)


@pytest.mark.parametrize(("sent", "expected"), HEADS)
def test_states_from_the_first_byte_on(sent: bytes, expected: str) -> None:
    assert follow(sent) == expected
    # However the head is cut.
    assert follow(sent[:3], sent[3:]) == expected[1:]


@pytest.mark.parametrize(("before", "sent", "expected"), BODIES)
def test_states_in_and_behind_a_body(before: bytes, sent: bytes, expected: str) -> None:
    assert follow(before, sent) == expected


def test_every_state_is_in_the_table() -> None:
    assert set(LETTERS.values()) == {state.name for state in Reading}
    assert {letter for _, _, letters in (*((b"", *row) for row in HEADS), *BODIES) for letter in letters} == set(
        LETTERS
    )
