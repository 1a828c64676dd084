"""The library's errors in the words of the command: options are named by their flags."""

from __future__ import annotations

import re
from argparse import ArgumentParser, BooleanOptionalAction
from collections.abc import Mapping
from types import MappingProxyType

from service.cli.streams import excerpt
from tokenizer_core import ArtifactError, TokdError

_CALLED = {
    "eos": "--no-eos",
    "extends_hash": "--extend",
    "format": "--input-format",
    "layout": "--format",
    "special_tokens": "--special-token",
}
"""Options of the library whose flags have other names, in the commands that have these flags."""


def flags_of(parser: ArgumentParser) -> dict[str, str]:
    """Return the flags of a command by the names of the options."""
    named = {
        action.dest: action.option_strings[0 if isinstance(action, BooleanOptionalAction) else -1]
        for action in parser._actions
        if action.option_strings
    }
    # A part of the corpus is called so in a recipe, and alone in messages.
    inner = {name.removeprefix("corpus."): flag for name, flag in named.items()}
    return inner | named | {option: flag for option, flag in _CALLED.items() if flag in named.values()}


def in_flags(text: str, flags: Mapping[str, str]) -> str:
    """Name options by their flags: ``eos="none"`` becomes ``--eos none``; a plain word stays if it is not the first."""
    for option, flag in flags.items():
        name = rf"(?<![\w.-]){re.escape(option)}"
        text = re.sub(rf'{name}="?([\w-]+)"?', rf"{flag} \1", text)
        alone = rf"{name}(?![\w.=-])"
        text = re.sub(alone if "_" in option else rf"^{alone}(?= is| are| has)|(?<=give ){alone}", flag, text)
    return text


def with_place(error: TokdError, flags: Mapping[str, str] = MappingProxyType({})) -> str:
    """Put the field before the message, and the index or the span behind it."""
    message, place = error.message, error.place
    field = str(place.get("field", ""))
    # A field of a tokenizer's file may be called as a flag is.
    if not isinstance(error, ArtifactError) or error.code == "invalid_name":
        message = in_flags(message, flags)
        field = flags.get(field, field)
    if "index" in place:
        message += f" (index {place['index']})"
    if "span" in place:
        start, end = place["span"]
        message += f" ({place['unit']} {start} to {end})"
    return message if field in message else f"{excerpt(field)}: {message}"
