"""The requests that are small enough for the event loop; larger ones are answered in a thread."""

INLINE_ITEMS = 256
"""More texts or lists than this leave the event loop however short they are: each costs a microsecond or two."""

INLINE_PAIRS = 64
"""More pairs than this leave the event loop: each takes about ten microseconds to put together."""

INLINE_SHAPED = 8192
"""More characters than this leave the event loop where more is made of their ids, such as a string for each: a
millisecond or two."""

INLINE_WIDTH = 1 << 15
"""Padding to more ids than this leaves the event loop."""

INLINE_CHAT_BYTES = 64 << 10
"""Longer bodies with a chat leave the event loop: to render and encode so much takes one to three milliseconds."""


def inline_steps(size: int) -> int:
    """Return the steps that a chat's template may take on the event loop, for a body of so many bytes.

    A real template takes up to 16 for a byte, where it writes tools; other chats are rendered again, in a thread.
    """
    return 100_000 + 16 * size
