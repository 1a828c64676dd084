"""Tokens in colours, for terminals."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator

_COLOURS = (189, 223, 194, 225, 229, 195)
"""Backgrounds of xterm's 256 colours: the pale ones of the page."""

CHOICES = ("auto", "always", "never")


def wanted(choice: str) -> bool:
    """Tell whether to write colours: by default on a terminal, unless ``NO_COLOR`` is set to something."""
    if choice == "auto":
        return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return choice == "always"


def coloured(texts: Iterable[str]) -> Iterator[str]:
    """Give texts, in which nothing may be left that a terminal obeys, turning colours."""
    for index, text in enumerate(texts):
        yield f"\x1b[30;48;5;{_COLOURS[index % len(_COLOURS)]}m{text}\x1b[0m"
