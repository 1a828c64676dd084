"""Coloured tokens as HTML, for notebooks.

Notebooks show the HTML of an untrusted output without its styles and scripts, and do not tell it whether the page is
light or dark. So there is no script and no style sheet; every colour is a thin film over the background of the page,
and the colour of the text is left to the page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tokenizer_core.spans import edges

if TYPE_CHECKING:
    import numpy.typing as npt

    from tokenizer_core.config import Unit

    Numbers = npt.NDArray[np.uint32]

FILMS = ("59,130,246", "234,179,8", "34,197,94", "236,72,153", "139,92,246", "249,115,22")
"""Red, green and blue of the colours that tokens take in turn."""

GREY = "128,128,128"
FILM = 0.25
"""Opacity of a colour: text on it keeps its contrast on white and on black."""

MOST_TOKENS = 1000
MOST_CHARACTERS = 100
"""Characters shown of one token, and of one stretch without tokens: a token may stand for a whole text."""

_BLOCK = "white-space:pre-wrap;overflow-wrap:anywhere;line-height:2;max-height:30em;overflow:auto"
_BOX = "border-radius:3px;padding:1px 0"
_NAMES = {"byte": "bytes", "char": "characters", "utf16": "UTF-16 units"}


class Look(NamedTuple):
    """The look of one token.

    Attributes:
        film: its colour.
        said: what its tip says after id and span.
        framed: it is a special token.
        underlined: it is trained on.
    """

    film: str
    said: str = ""
    framed: bool = False
    underlined: bool = False


def shown_tokens(
    text: str, ids: Numbers, spans: Numbers, unit: Unit = "char", look: Callable[[int], Look] | None = None
) -> str:
    """Write a text in coloured tokens; the first 1,000, with what a token's tip tells of it.

    Tokens that share a character, as three tokens of one emoji do, stand by their ids behind it, in brackets.

    Args:
        ids, spans: uint32, shapes (n,) and (n, 2); the spans in ``unit`` of the text.
        look: how the token at an index is shown; by default in six colours in turn.
    """
    look = look or (lambda index: Look(FILMS[index % len(FILMS)]))
    shown = ids[:MOST_TOKENS].tolist()
    tips = [
        f"id {id}, {_NAMES[unit]} {start} to {end}{look(index).said}"
        for index, (id, (start, end)) in enumerate(zip(shown, spans[:MOST_TOKENS].tolist(), strict=True))
    ]
    parts, at = [], 0
    for start, end, members in _groups(_characters(text, spans[:MOST_TOKENS], unit)):
        parts.append(_visible(text[at:start]))
        written = _visible(text[max(at, start) : end])
        at = max(at, end)
        if len(members) == 1:
            parts.append(_token(written or _small(shown[members[0]]), tips[members[0]], look(members[0])))
        else:
            chips = " ".join(_token(_small(shown[index]), tips[index], look(index)) for index in members)
            parts.append(f"[{written} {chips}]")
    more = (
        f"<p>The first {MOST_TOKENS:,} of {len(ids):,} tokens.</p>" if len(ids) > MOST_TOKENS else _visible(text[at:])
    )
    return f'<div style="{_BLOCK}">{"".join(parts)}{more}</div>'


def legend(entries: Iterable[tuple[str, Look]]) -> str:
    """Write what the colours mean."""
    return f"<p>{' '.join(_token(_visible(name), '', look) for name, look in entries)}</p>"


def facts(rows: Mapping[str, str]) -> str:
    """Write names and values as a table."""
    cells = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{_visible(value)}</td></tr>'
        for name, value in rows.items()
    )
    return f"<table>{cells}</table>"


def _characters(text: str, spans: Numbers, unit: Unit) -> list[list[int]]:
    """Return spans in characters, each the smallest that covers the given one."""
    if unit == "char" or not len(spans):
        found: list[list[int]] = spans.tolist()
        return found
    # No character is shorter than one unit, so the rest of a long text need not be looked at.
    places = edges(text[: int(spans.max())], unit)
    starts = np.searchsorted(places, spans[:, 0], side="right") - 1
    pairs: list[list[int]] = np.stack((starts, np.searchsorted(places, spans[:, 1])), axis=1).tolist()
    return pairs


def _groups(spans: list[list[int]]) -> Iterator[tuple[int, int, list[int]]]:
    """Yield runs of tokens that share characters: where each begins and ends, and the indexes of its tokens."""
    members: list[int] = []
    first = last = 0
    for index, (start, end) in enumerate(spans):
        if members and first < last and start < last and start < end:
            first, last = min(first, start), max(last, end)
            members.append(index)
            continue
        if members:
            yield first, last, members
        first, last, members = start, end, [index]
    if members:
        yield first, last, members


def _token(inner: str, tip: str, look: Look) -> str:
    style = f"background:rgba({look.film},{FILM});{_BOX}"
    if look.framed:
        style += ";outline:1px solid"
    if look.underlined:
        style += ";text-decoration:underline;text-underline-offset:4px"
    return f'<span title="{escape(tip)}" style="{style}">{inner}</span>'


def _small(id: int) -> str:
    return f"<small>{id}</small>"


def _visible(text: str) -> str:
    """Write text for the eye: controls and marks of direction as escapes, line ends as an arrow and a line end."""
    cut = text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}…"
    seen = "".join(
        "↵\n" if c == "\n" else c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in cut
    )
    return f"<bdi>{escape(seen)}</bdi>" if seen else ""
