"""Tokens in colours, for terminals."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from service.cli.streams import printable

_COLOURS = (189, 223, 194, 225, 229, 195)
"""Backgrounds of xterm's 256 colours: the pale ones of the page."""

CHOICES = ("auto", "always", "never")


def wanted(choice: str) -> bool:
    """Tell whether to write colours: by default on a terminal, unless ``NO_COLOR`` is set to something."""
    if choice == "auto":
        return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return choice == "always"


def coloured(texts: Iterable[str]) -> str:
    """Write texts in turning colours, with escapes for what is not to be shown."""
    return "".join(
        f"\x1b[30;48;5;{_COLOURS[index % len(_COLOURS)]}m{printable(text)}\x1b[0m" for index, text in enumerate(texts)
    )
