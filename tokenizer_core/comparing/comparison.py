"""Several tokenizers on the same texts, the first of which the others are compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tokenizer_core.arguments import check_call, check_kind, check_unicode, holds_items, integer_of
from tokenizer_core.comparing.measures import Cost, Words, cost, entries, longest, renyi_efficiency
from tokenizer_core.errors import InvalidOption
from tokenizer_core.languages import ARTICLE_1
from tokenizer_core.short_repr import ShortRepr
from tokenizer_core.tokenizer import Tokenizer

MAX_COMPARED = 16
"""The most tokenizers of one comparison."""

CONTEXT = 8192
"""Tokens of the context that the costs are told for, where nobody names another."""


@dataclass(frozen=True, slots=True)
class TextCost:
    """The cost of some texts with one tokenizer.

    Attributes:
        whole_words: the share of words that lie within one token.
        unknown: the share of characters that become unknown tokens: these cost little and say nothing.
        times_first: tokens, times those of the first tokenizer; ``None`` where it cannot encode the texts.
        context_needed: tokens for the text that fills the context with the first tokenizer.
        attention: work of attention over that text, times that of the first tokenizer.
    """

    tokens: int
    per_byte: float
    per_character: float
    per_word: float
    whole_words: float
    unknown: float
    times_first: float | None
    context_needed: int | None
    attention: float | None


@dataclass(frozen=True, slots=True)
class TextSize:
    """The size of some texts; ``words`` are those of Unicode's default boundaries (UAX 29)."""

    bytes: int
    characters: int
    words: int


@dataclass(frozen=True, slots=True, repr=False)
class TokenizerSummary(ShortRepr):
    """One of the tokenizers, over all texts together.

    Attributes:
        tokens: entries, added tokens aside.
        longest_tokens: the longest entries.
        unused: entries that no text has.
        longest_unused: the longest of these.
        renyi_efficiency: how evenly the vocabulary is used, 1 at most; ``None`` without any tokens.
        shared: by the place of each tokenizer: the share of this one's entries that the other has too.
    """

    name: str
    hash: str
    vocab_size: int
    tokens: int
    longest_tokens: tuple[str, ...]
    unused: int
    longest_unused: tuple[str, ...]
    renyi_efficiency: float | None
    shared: tuple[float, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(ShortRepr):
    """The result of ``compare``.

    Attributes:
        context: the length that the costs of a context are told for, in tokens of the first tokenizer.
        sizes: of the texts, by name.
        costs: by the name of the texts, one for each tokenizer; ``None`` where it has no tokens for them.
    """

    context: int
    tokenizers: tuple[TokenizerSummary, ...]
    sizes: Mapping[str, TextSize]
    costs: Mapping[str, tuple[TextCost | None, ...]]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        texts = {
            name: {**asdict(self.sizes[name]), "costs": [each and asdict(each) for each in costs]}
            for name, costs in self.costs.items()
        }
        return {"context": self.context, "tokenizers": [asdict(each) for each in self.tokenizers], "texts": texts}


def compare(
    tokenizers: Sequence[Tokenizer],
    texts: Mapping[str, Iterable[str]] | None = None,
    *,
    context: int = CONTEXT,
    on_step: Callable[[], None] | None = None,
) -> Comparison:
    """Measure tokenizers on the same texts, in which literals of special tokens are ordinary text.

    Args:
        tokenizers: at most ``MAX_COMPARED``; the others are compared with the first.
        texts: by name, such as a language; by default the same two sentences in twenty languages.
        context: tokens of the first tokenizer that fill a context.
        on_step: called before each text; what it raises ends the comparison.

    Raises:
        InvalidOption, InvalidUnicode, StepLimit

    >>> base = Tokenizer.open("artifacts/base")
    >>> compare([base], {"greeting": ["Hello, world"]}).costs["greeting"][0].per_word
    1.5
    """
    _check(tokenizers)
    check_call(on_step, "on_step")
    length = integer_of(context, "context", 1)
    step = on_step or (lambda: None)
    read = {name: [Words.of(text) for text in given] for name, given in _texts_of(texts)}
    sizes = {name: _size(words) for name, words in read.items()}
    # One that is named twice is measured once.
    distinct = {tokenizer.hash: tokenizer for tokenizer in tokenizers}
    found = {name: {hash: cost(each, words, step) for hash, each in distinct.items()} for name, words in read.items()}
    order = [tokenizer.hash for tokenizer in tokenizers]
    costs = {
        name: tuple(_told(each[hash], sizes[name], each[order[0]], length) for hash in order)
        for name, each in found.items()
    }
    summaries = _summaries(distinct, list(found.values()), step)
    named = (
        replace(summary, name=tokenizer.name, shared=tuple(shared[hash] for hash in order))
        for tokenizer in tokenizers
        for summary, shared in (summaries[tokenizer.hash],)
    )
    return Comparison(length, tuple(named), sizes, costs)


def _check(tokenizers: Sequence[Tokenizer]) -> None:
    if not isinstance(tokenizers, list | tuple) or not 1 <= len(tokenizers) <= MAX_COMPARED:
        raise InvalidOption(f"tokenizers is a list of 1 to {MAX_COMPARED} tokenizers", field="tokenizers")
    for at, tokenizer in enumerate(tokenizers):
        check_kind(tokenizer, Tokenizer, f"tokenizers[{at}]")


def _texts_of(texts: Mapping[str, Iterable[str]] | None) -> Iterable[tuple[str, list[str]]]:
    if texts is None:
        return [(name, [text]) for name, text in ARTICLE_1.items()]
    check_kind(texts, Mapping, "texts")
    if not texts:
        raise InvalidOption("texts has no text; leave it out for those of twenty languages", field="texts")
    taken = []
    for name, given in texts.items():
        check_unicode(name, "texts")
        if isinstance(given, str) or not holds_items(given):
            raise InvalidOption("texts are lists of strings by name; make a list of one", field=f"texts.{name}")
        listed = list(given)
        for at, text in enumerate(listed):
            check_unicode(text, f"texts.{name}[{at}]")
        taken.append((name, listed))
    return taken


def _size(words: list[Words]) -> TextSize:
    return TextSize(
        sum(len(each.text.encode()) for each in words),
        sum(len(each.text) for each in words),
        sum(len(each.starts) for each in words),
    )


def _told(found: Cost | None, size: TextSize, first: Cost | None, context: int) -> TextCost | None:
    """Put the cost of texts in proportion to their size and to the first tokenizer's."""
    if found is None:
        return None
    times = found.tokens / first.tokens if first is not None and first.tokens else None
    return TextCost(
        tokens=found.tokens,
        per_byte=round(found.tokens / max(1, size.bytes), 4),
        per_character=round(found.tokens / max(1, size.characters), 4),
        per_word=round(found.tokens / max(1, size.words), 4),
        whole_words=round(found.whole_words / max(1, size.words), 4),
        unknown=round(found.unknown / max(1, size.characters), 4),
        times_first=None if times is None else round(times, 4),
        context_needed=None if times is None else round(times * context),
        attention=None if times is None else round(times * times, 4),
    )


def _summaries(
    tokenizers: Mapping[str, Tokenizer], costs: list[dict[str, Cost | None]], step: Callable[[], None]
) -> dict[str, tuple[TokenizerSummary, Mapping[str, float]]]:
    """Look through vocabularies, by hash: what each is, and the share of its entries that each of the others has."""
    codes: dict[bytes, int] = {}
    found = {}
    for hash, tokenizer in tokenizers.items():
        step()
        known = entries(tokenizer)
        counts = np.zeros(tokenizer.vocab_size, np.int64)
        for row in costs:
            one = row[hash]
            if one is not None:
                counts += one.counts
        unused = [id for id in known if not counts[id]]
        efficiency = renyi_efficiency(counts, len(known))
        summary = TokenizerSummary(
            name=tokenizer.name,
            hash=hash,
            vocab_size=tokenizer.vocab_size,
            tokens=len(known),
            longest_tokens=longest(known, known),
            unused=len(unused),
            longest_unused=longest(unused, known),
            renyi_efficiency=None if efficiency is None else round(efficiency, 4),
            shared=(),
        )
        found[hash] = summary, [codes.setdefault(entry, len(codes)) for entry in known.values()]
    # The entries of each vocabulary among all entries, by their codes.
    has = {hash: np.zeros(len(codes), np.bool_) for hash in found}
    for hash, (_, own) in found.items():
        has[hash][own] = True
    return {
        hash: (summary, {other: _share(has[hash], its) for other, its in has.items()})
        for hash, (summary, _) in found.items()
    }


def _share(own: npt.NDArray[np.bool_], other: npt.NDArray[np.bool_]) -> float:
    """Return the share of what one has that the other has too."""
    return round(int(np.count_nonzero(own & other)) / max(1, int(np.count_nonzero(own))), 4)
