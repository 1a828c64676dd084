"""A chat in the colours of its authors, as HTML, for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenizer_core.chat.rendered import RenderedChat
from tokenizer_core.token_html import FILMS, GREY, Look, legend, shown_tokens

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

TEMPLATE = "template"
"""The author of what no message wrote; tools and documents stand in the template's text."""

MOST_ROLES = 8
"""Roles in the legend: each message may have one of its own."""


def shown_chat(
    rendered: RenderedChat,
    ids: npt.NDArray[np.uint32],
    spans: npt.NDArray[np.uint32],
    *,
    authors: npt.NDArray[np.int64],
    special: npt.NDArray[np.bool_],
    trained: npt.NDArray[np.int64],
    reserved: int,
) -> str:
    """Write a chat in coloured tokens: a colour for each role, special tokens framed, what is trained on underlined.

    Args:
        authors: the message that wrote each token, or -1.
        special, trained: whether each token is special, and whether it is trained on.
        reserved: how many literals of added tokens a caller wrote.
    """
    roles = list(dict.fromkeys(rendered.roles))
    films = {role: FILMS[at % len(FILMS)] for at, role in enumerate(roles)}

    def look(index: int) -> Look:
        message = int(authors[index])
        author = rendered.roles[message] if message >= 0 else None
        film = GREY if author is None else films[author]
        by = TEMPLATE if author is None else f"{author[:40]}, message {message}"
        return Look(film, f", by {by}", framed=bool(special[index]), underlined=bool(trained[index]))

    counted = f"{len(ids):,} tokens, {int(trained.sum()):,} of them trained on"
    if reserved:
        counted += f"; literals of added tokens that callers wrote, and that are text: {reserved:,}"
    meanings = [
        (TEMPLATE, Look(GREY)),
        *((role, Look(films[role])) for role in roles[:MOST_ROLES]),
        ("special", Look(GREY, framed=True)),
        ("trained on", Look(GREY, underlined=True)),
    ]
    return f"<p>{counted}</p>{legend(meanings)}{shown_tokens(rendered.text, ids, spans, look=look)}"
