"""Models of ``POST /compare``."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field

from service.schemas.fields import LEFT_TO_RIGHT, Part
from service.schemas.requests import Example, RequestBody

MAX_TOKENIZERS = 8
"""The most tokenizers of a request: of each the whole vocabulary is looked through."""

MAX_NAMES = 64

MAX_CHARACTERS = 1_000_000
"""The most characters of a request: words are looked for in all, and each tokenizer encodes all."""

Texts = dict[str, Annotated[str | list[str], LEFT_TO_RIGHT]]


class CompareRequest(RequestBody):
    """Tokenizers that are measured on the same texts."""

    model_config = ConfigDict(extra="forbid")

    tokenizers: Annotated[list[str], Field(min_length=1, max_length=MAX_TOKENIZERS)] | None = Field(
        None,
        description="References, as `tokenizer` of the other routes; by default the default alone. The others are "
        "compared with the first.",
    )
    texts: Annotated[Texts, Field(min_length=1, max_length=MAX_NAMES)] | None = Field(
        None,
        description="One text or a list of texts by name, such as a language; by default the same two sentences in "
        "twenty languages.",
    )
    context: Annotated[int, Field(ge=1, le=1 << 31)] = Field(
        8192, description="Tokens of the first tokenizer that fill a context."
    )

    EXAMPLES: ClassVar[dict[str, Example]] = {
        "a text of your own": Example(
            "tokens by text, and what the vocabularies share",
            {"texts": {"greeting": "Hello, world"}, "context": 4096},
        ),
        "twenty languages": Example("the same two sentences in each", {}),
        "no tokenizer": Example("a list names at least one", {"tokenizers": []}, status=422),
    }

    def heavy(self) -> bool:
        """Tell that it leaves the event loop: whole vocabularies are looked through."""
        return True

    def weight(self) -> int:
        """Return how many vocabularies are looked through."""
        return len(self.tokenizers or [None])


class ComparedTokenizer(Part):
    """One of the tokenizers, over all texts together."""

    name: str
    hash: str = Field(description="Equal hashes mean equal ids.")
    vocab_size: int
    tokens: int = Field(description="Entries, added tokens aside.")
    longest_tokens: list[str]
    unused: int = Field(description="Entries that no text has.")
    longest_unused: list[str]
    renyi_efficiency: float | None = Field(description="How evenly the vocabulary is used, 1 at most.")
    shared: list[float] = Field(description="By tokenizer: the share of this one's entries that the other has too.")


class ComparedCost(Part):
    """What a text costs with one tokenizer."""

    tokens: int
    per_byte: float = Field(description="Tokens a byte.")
    per_character: float
    per_word: float
    whole_words: float = Field(description="The share of words that lie within one token.")
    unknown: float = Field(description="The share of characters that become the unknown token.")
    times_first: float | None = Field(description="Tokens, times those of the first tokenizer.")
    context_needed: int | None = Field(description="Tokens for what fills `context` with the first tokenizer.")
    attention: float | None = Field(description="Work of attention over it, times that of the first tokenizer.")


class ComparedText(Part):
    """The size of the texts of a name, and what they cost."""

    bytes: int
    characters: int
    words: int = Field(description="By Unicode's default boundaries (UAX 29).")
    costs: list[ComparedCost | None] = Field(
        description="One for each tokenizer; null where it has no tokens for a part of the texts."
    )


class CompareAnswer(Part):
    """Tokenizers, and what each text costs with them."""

    context: int
    tokenizers: list[ComparedTokenizer]
    texts: dict[str, ComparedText]
