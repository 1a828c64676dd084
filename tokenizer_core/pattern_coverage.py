"""Prove that an expression covers every text: no character is between its matches.

It does if none of its alternatives can match nothing, and those that match one character of a class, whatever stands
round it, have every character between them: one of them matches wherever a search begins. An expression with anything
in it that is not read here is not shown to cover anything.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import lru_cache

from tokenizer_core.config import PipelineConfig
from tokenizer_core.errors import TokdError
from tokenizer_core.stages import Pattern, Pretokenizer

_TOKEN = re.compile(
    r"""
    (?P<group> \( (?: \?i?: )? (?!\?) )
  | (?P<look> \( \? <?[=!] )
  | (?P<close> \) )
  | (?P<bar> \| )
  | (?P<one> \[ \^? (?: [^\[\]\\&^] | \\. )+ \] | \\[pP]\{\w+\} | \\[dDrnsStwW] | \\[^\w\s] | [^\\\[\](){}|^$*+?] )
    (?P<times> [?*+] (?P<mode> [?+] )? | \{ (?P<least> \d+ ) (?: , \d* )? \} )?
  | (?P<again> [?*+] | \{ \d+ (?: , \d* )? \} )
  | (?P<place> [$^] )
    """,
    re.VERBOSE | re.DOTALL,
)
_Tokens = list[re.Match[str]]

_AT_ONCE = 1 << 14
"""Characters: a text of them all would take more steps than one text may."""


@lru_cache(maxsize=64)
def covers_every_text(expression: str) -> bool:
    """Tell whether an expression is shown to leave no character outside its matches."""
    tokens = list(_TOKEN.finditer(expression))
    if "".join(token[0] for token in tokens) != expression:
        return False
    alternatives = list(_alternatives(tokens))
    classes = [token["one"] for alternative in alternatives for token in _any_of_a_class(alternative)]
    return bool(classes) and all(map(_takes_some, alternatives)) and _hold_every_character(classes)


def _alternatives(tokens: _Tokens) -> Iterator[_Tokens]:
    alternative: _Tokens = []
    depth = 0
    for token in tokens:
        depth += bool(token["group"] or token["look"]) - bool(token["close"])
        if token["bar"] and depth == 0:
            yield alternative
            alternative = []
        else:
            alternative.append(token)
    yield alternative


def _least(token: re.Match[str]) -> int:
    return int(token["least"]) if token["least"] else int(token["times"] is None or token["times"][0] == "+")


def _any_of_a_class(alternative: _Tokens) -> _Tokens:
    """Return the one token that must match, once at least, if all others may match nothing and give back."""
    if alternative and alternative[-1]["again"] and alternative[-1][0] in "?*":
        # A group at the end that need not match, before which all is decided.
        end = len(alternative) - 1
        group = (at for at, token in enumerate(alternative) if token["group"] and _behind(alternative, at) == end)
        alternative = alternative[: next(group, end)]
    if not all(token["one"] for token in alternative):
        return []
    needed = [token for token in alternative if _least(token)]
    if len(needed) != 1 or _least(needed[0]) != 1:
        return []
    before = alternative[: alternative.index(needed[0])]
    return [] if any(token["mode"] == "+" for token in before) else needed


def _takes_some(alternative: _Tokens) -> bool:
    """Tell whether an alternative takes a character at least: one of the parts that stand behind one another does."""
    at = 0
    while at < len(alternative):
        token, begin = alternative[at], at
        at = _behind(alternative, at)
        inner = _alternatives(alternative[begin + 1 : at - 1])
        if at < len(alternative) and alternative[at]["again"]:
            at += 1
            if alternative[at - 1][0] != "+":
                # It may be to be repeated no time.
                continue
        if all(map(_takes_some, inner)) if token["group"] else token["one"] and _least(token):
            return True
    return False


def _behind(tokens: _Tokens, at: int) -> int:
    """Return the place behind a token, or behind the group that it opens."""
    depth = 0
    for place in range(at, len(tokens)):
        depth += bool(tokens[place]["group"] or tokens[place]["look"]) - bool(tokens[place]["close"])
        if depth <= 0:
            return place + 1
    return len(tokens)


def _hold_every_character(classes: list[str]) -> bool:
    """Ask the engine itself, whose classes they are."""
    from tokenizer_core._kernel import Pipeline, Vocabulary

    matches = Pretokenizer(
        "split", pattern=Pattern("regex", f"(?:{'|'.join(classes)})+"), behavior="removed", invert=True
    )
    bytes_only = Vocabulary.from_tokens([(byte, bytes([byte])) for byte in range(256)], [])
    characters = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    try:
        pipeline = Pipeline(bytes_only, PipelineConfig(pretokenizer=(matches,)).to_json())
        for start in range(0, len(characters), _AT_ONCE):
            pipeline.pieces("".join(characters[start : start + _AT_ONCE]))
    except TokdError:
        return False
    return True
