"""The pretokenizer patterns that have a name: their exact texts, and the name behind every known spelling.

The texts mean the same to the ``regex`` module, to tiktoken's engine and to Hugging Face's (Oniguruma), so they are
what an export writes. Two traps: ``\\s++$`` is the end of the text in all three, since no newline
follows a maximal run of white space; and a possessive ``{1,3}+`` is not possessive in Oniguruma.

A pattern without a name is kept as Oniguruma reads it, since a ``tokenizer.json`` holds it so. tiktoken's engine reads
some signs differently; ``from_tiktoken`` writes them so that both mean the same.
"""

from __future__ import annotations

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
"""The text of every named pattern. All of them cover every text: no character is outside their matches."""

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


_LINE = r"[^\r\n\p{N}]+(?:\s*[\r\n]+)?|\s*[\r\n]+"

LINES: Mapping[str, str] = MappingProxyType(
    {
        "gpt2": r" ?\p{N}+|(?:[^\r\n\p{N} ]| (?!\p{N}))+(?:\s*[\r\n]+)?|\s*[\r\n]+|[^\r\n\p{N}]",
        "cl100k_base": r"\p{N}{1,3}|" + _LINE,
        "o200k_base": r"\p{N}{1,3}|" + _LINE,
        "qwen2": r"\p{N}|" + _LINE,
    }
)
"""The pattern of superwords by that of words: it cuts only around numbers and behind line ends.

All cover every text, as the last part of GPT-2's shows. The kernel's room ``train`` knows them, since a document may be
cut between lines.
"""


def name_of(text: str) -> str | None:
    """Return the name of a pattern's text, or ``None`` when it is not one of the known spellings."""
    return SPELLINGS.get(text)


def from_tiktoken(text: str) -> str:
    """Write a pattern of tiktoken's so that Oniguruma reads the same; what both read alike stays as it is.

    ``$`` is the end of the text in tiktoken and of a line in Oniguruma, ``\\w``, ``\\b`` and POSIX brackets hold other
    characters, ``{1,3}+`` is possessive there and not here, and the case that ``(?i)`` ignores is another.

    Raises:
        InvalidArtifact: ``invalid_pattern``: it does not compile, or has a part that cannot be written so.
    """
    from tokenizer_core._kernel import portable_pattern

    return portable_pattern(text)


def read_alike(text: str) -> bool:
    """Tell whether a pattern of a ``tokenizer.json`` means the same to tiktoken."""
    try:
        return from_tiktoken(text) == text
    except InvalidArtifact:
        return False
