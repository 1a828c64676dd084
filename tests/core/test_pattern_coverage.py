"""What is said to cover every text leaves no character between its matches, here and in tiktoken."""

from __future__ import annotations

import pytest
import tiktoken

from tests.support.vocabularies import build, split
from tokenizer_core.pattern_coverage import covers_every_text
from tokenizer_core.patterns import PATTERNS

TEXTS = ("", "a", " a  1\n\n'll, ", "\r\n\x1c\x85\u2028\t", "Ǆǅ ß\u0301 日本 ٣½ \U0001f469\u200d \ue000\u0378")
TEKKEN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


@pytest.mark.parametrize(
    "expression",
    [
        PATTERNS["cl100k_base"],
        TEKKEN,
        r"\s+|\S+",
        r"\p{L}+|\P{L}",
        r".|\n",
        r"'(?:[sdmt]|ll)|\d{1,3}|\s+(?!\S)|\s++$|\S\S??|\s",
    ],
)
def test_what_covers_every_text_loses_none(expression: str) -> None:
    assert covers_every_text(expression)
    matches = build(pretokenizer=(split(expression, "removed", True),))
    ranks = {bytes([byte]): byte for byte in range(256)}
    of_openai = tiktoken.Encoding("x", pat_str=expression, mergeable_ranks=ranks, special_tokens={})
    for text in TEXTS:
        assert "".join(matches.pieces(text)) == text
        assert of_openai.decode(of_openai.encode(text)) == text


@pytest.mark.parametrize(
    "expression",
    [
        # A character is missing.
        r"\d{1,3}",
        r"\S+",
        r".",
        r"\s+|[^a]",
        r"\s+(?!\S)|\S",
        # White space is matched only together with another character, or never.
        r"\s{2}|\S",
        r"\s\s|\S",
        r"\s?+\s|\S",
        r"(?=a)\s|\S",
        # An alternative may match nothing, and does so first.
        "",
        r"|\s|\S",
        r"a*|\s|\S",
        r"a{0,2}|\s|\S",
        r"a+{0}|\s|\S",
        r"(?:a?)|\s|\S",
        r"(?:a|)|\s|\S",
        r"(?:a){0}|\s|\S",
        r"(?=x)|\s|\S",
        r"$|\s|\S",
        # Syntax that the check does not understand.
        r"(?x)a* |\s|\S",
        r"(?#[)|a*|]|\s|\S",
        r"[a[|]|]|\s|\S",
        r"\b|\s|\S",
    ],
)
def test_what_may_leave_text_out_is_not_said_to_cover_it(expression: str) -> None:
    assert not covers_every_text(expression)
