"""Count tokens per byte, character and word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass

import regex

from tokenizer_core.arguments import check_kind, holds_items
from tokenizer_core.errors import InvalidOption
from tokenizer_core.languages import ARTICLE_1
from tokenizer_core.tokenizer import Tokenizer

_BOUNDARY = regex.compile(r"\b", regex.VERSION1 | regex.WORD)
_WORD = regex.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Fertility:
    """The token count of some text.

    Attributes:
        words: by Unicode's default boundaries (UAX 29), where an ideograph is a word of its own.
    """

    tokens: int
    bytes: int
    characters: int
    words: int

    @property
    def per_byte(self) -> float:
        """Tokens a byte."""
        return self.tokens / max(1, self.bytes)

    @property
    def per_character(self) -> float:
        """Tokens a code point."""
        return self.tokens / max(1, self.characters)

    @property
    def per_word(self) -> float:
        """Tokens a word."""
        return self.tokens / max(1, self.words)

    def to_dict(self) -> dict[str, float]:
        """Return plain JSON values."""
        ratios = {name: round(getattr(self, name), 4) for name in ("per_byte", "per_character", "per_word")}
        return asdict(self) | ratios


def word_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the place of every word by Unicode's default boundaries (UAX 29), half-open, in characters."""
    start = 0
    for part in _BOUNDARY.split(text):
        if _WORD.search(part):
            yield start, start + len(part)
        start += len(part)


def fertility(tokenizer: Tokenizer, texts: Iterable[str]) -> Fertility:
    """Count the tokens of texts, in which literals of special tokens are ordinary text.

    Raises:
        InvalidOption, InvalidUnicode, StepLimit, UncoveredText

    >>> fertility(Tokenizer.open("artifacts/base"), ["Hello, world"]).per_word
    1.5
    """
    check_kind(tokenizer, Tokenizer, "tokenizer")
    if isinstance(texts, str):
        raise InvalidOption("texts are strings, not one string; make a list of it", field="texts")
    if not holds_items(texts):
        raise InvalidOption(f"texts is a list of strings, not {type(texts).__name__}", field="texts")
    tokens = size = characters = words = 0
    for text in texts:
        tokens += tokenizer.count(text, special_tokens="text")
        size += len(text.encode())
        characters += len(text)
        words += sum(1 for _ in word_spans(text))
    return Fertility(tokens, size, characters, words)


def fertility_by_language(tokenizer: Tokenizer, texts: Mapping[str, str] = ARTICLE_1) -> dict[str, Fertility]:
    """Count the tokens of the same two sentences in twenty languages, or of other texts by name."""
    check_kind(texts, Mapping, "texts")
    return {name: fertility(tokenizer, [text]) for name, text in texts.items()}
