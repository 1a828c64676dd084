"""``POST /compare``: tokenizers measured on the same texts."""

from __future__ import annotations

from typing import Annotated, ClassVar

import orjson
from fastapi import FastAPI
from pydantic import ConfigDict, Field

from service.errors import ServiceError, core_errors_at, errors_at
from service.http.response_json import Answer, report_bytes
from service.registry.served import ServedTokenizer
from service.routes.json_route import post
from service.schemas.fields import LEFT_TO_RIGHT, Part
from service.schemas.requests import Example, RequestBody
from service.state import ServerState
from tokenizer_core import compare

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


def mount(app: FastAPI, state: ServerState) -> None:
    """Declare the route."""
    post(app, state, "/compare", compare_tokenizers, CompareRequest, CompareAnswer)


def compare_tokenizers(state: ServerState, body: CompareRequest) -> Answer:
    """Measure tokenizers: what each text costs with each, and how much of their vocabularies they use and share."""
    opened = [_opened(state, reference, at) for at, reference in enumerate(body.tokenizers or [None])]
    tokenizers = [each.tokenizer for each in opened]
    texts = body.texts and {name: [given] if isinstance(given, str) else given for name, given in body.texts.items()}
    each_text = [text for given in (texts or {}).values() for text in given]
    if len(each_text) > (most := state.settings.max_items):
        detail = f"there are {len(each_text)} texts, more than {most}; join short ones, or use tokd compare"
        raise ServiceError("too_many_items", detail, "texts")
    size = sum(map(len, each_text))
    if size > MAX_CHARACTERS:
        detail = f"the texts have {size} characters, more than {MAX_CHARACTERS}; send a part, or use tokd compare"
        raise ServiceError("too_many_items", detail, "texts")
    # Nothing is made between two texts, but there the work ends if nobody waits for it any more.
    with core_errors_at("texts"):
        found = compare(tokenizers, texts, context=body.context, on_step=lambda: report_bytes(0))
    tokens = sum(cost.tokens for costs in found.costs.values() for cost in costs if cost is not None)
    # One for each tokenizer, in their order.
    headers = tuple(header for each in opened for header in each.headers)
    return Answer([orjson.dumps(found.to_dict())], tokens, opened[0].hash, headers=headers)


def _opened(state: ServerState, reference: str | None, at: int) -> ServedTokenizer:
    with errors_at(f"tokenizers[{at}]"):
        return state.registry.get(reference)
