"""The pretokenizer patterns that have a name: their exact texts, and the name behind every known spelling.

The texts mean the same to the ``regex`` module, to tiktoken's engine and to Hugging Face's (Oniguruma), so they are
what an export writes. Two traps: ``\\s++$`` is the end of the text in all three, since a maximal run of white space
never stands before a newline; and a possessive ``{1,3}+`` is not possessive in Oniguruma.

A pattern without a name is kept as Oniguruma reads it, since a ``tokenizer.json`` holds it so. tiktoken's engine reads
some signs differently; ``from_tiktoken`` writes them so that both mean the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from tokenizer_core.errors import InvalidArtifact

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_GPT2_TAIL = r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

PATTERNS: Mapping[str, str] = MappingProxyType(
    {
        "gpt2": r"'s|'t|'re|'ve|'m|'ll|'d|" + _GPT2_TAIL,
        # Also Llama 3's. tiktoken 0.8 and later write ``\s++$`` for the end of the text, which keeps newlines and
        # spaces there in one piece. The ids of OpenAI's vocabulary are the same, since none of its tokens ends in a
        # space after a newline; the pieces are not, so that spelling stays a regular expression.
        "cl100k_base": _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+",
        "o200k_base": rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CONTRACTIONS}?"
        rf"|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_CONTRACTIONS}?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        "qwen2": _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+",
    }
)
"""The text of every named pattern. All of them cover every text: no character lies outside their matches."""

ALIASES: Mapping[str, str] = MappingProxyType({"llama3": "cl100k_base"})
"""Second names: a pipeline holds the first, so that one pattern has one hash."""

SPELLINGS: Mapping[str, str] = MappingProxyType(
    {text: name for name, text in PATTERNS.items()}
    | {
        # The original release of GPT-2.
        r"""'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""": "gpt2",
        # tiktoken before 0.8, and since.
        r"'(?:[sdmt]|ll|ve|re)|" + _GPT2_TAIL: "gpt2",
        r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s": "gpt2",
    }
)
"""The name behind each spelling that is known; any other text stays a regular expression."""


def name_of(text: str) -> str | None:
    """Return the name of a pattern's text, or ``None`` when it is not one of the known spellings."""
    return SPELLINGS.get(text)


_TIKTOKEN_CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
_SIGNS = re.compile(
    r"(?P<escape>\\.)|(?P<open>\[\^?\]?)|(?P<close>\])|(?P<flags>\(\?[a-zA-Z-]+[:)])|(?P<counted>\{\d*,?\d*\}\+)"
    r"|(?P<end>\$)|(?P<start>\^)",
    re.DOTALL,
)


def from_tiktoken(text: str) -> str:
    """Write a pattern of tiktoken's so that Oniguruma reads the same.

    ``$`` and ``^`` are the ends of the text in tiktoken and of lines in Oniguruma; ``(?s)`` is called ``(?m)`` there.

    Raises:
        InvalidArtifact: ``invalid_pattern`` for a possessive ``{1,3}+`` and for ``(?m)``, which cannot be written so.
    """
    if text == _TIKTOKEN_CL100K:
        # Nothing follows the digits, so taking them possessively changes nothing.
        text = text.replace("{1,3}+", "{1,3}")
    depth = 0

    def translate(match: re.Match[str]) -> str:
        nonlocal depth
        found = match.group()
        if match["open"]:
            depth += 1
        elif match["close"]:
            depth = max(0, depth - 1)
        elif depth == 0 and (match["end"] or match["start"]):
            return r"\z" if match["end"] else r"\A"
        elif depth == 0 and match["flags"]:
            if set(found) & set("mUR"):
                raise _not_portable(found, "write the ends of lines out, as (?=\\n|\\z)")
            return found.replace("s", "m")
        elif depth == 0 and match["counted"]:
            raise _not_portable(found, "put the part into an atomic group (?>...)")
        return found

    return _SIGNS.sub(translate, text)


def _not_portable(found: str, way_out: str) -> InvalidArtifact:
    return InvalidArtifact(
        f"{found[:40]} means something else in a tokenizer.json; {way_out}", code="invalid_pattern", field="pattern"
    )
