"""Advice about a trained tokenizer, in words, where its report shows problems that training can mend."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from service.reports.fertility import MARKED

BYTES_A_TOKEN = 1.5
"""Below, nearly every byte of a text is a token of its own: merges know nothing of the language."""

POOR = 0.75
"""Below so great a share of the best text's bytes a token, the language is at fault and not a small vocabulary."""

RARE = 50
"""A token whose pair occurs less often in the corpus is seen too rarely by a model to be learned well."""

LONG = 24
"""Tokens of so many characters and more are mostly of text that comes again and again."""

SHOWN = 3

LEARNED = {"unigram": "substring", "word": "word", "character": "character"}
"""The units that fill a vocabulary, by its model, if they are not the products of pairs."""

LIMITS = {"min_frequency": (1,), "min_count": (1,), "max_token_length": (None, 16), "limit_alphabet": (None,)}
"""Settings that can leave nothing to learn, with the values that nobody has to set."""

ALPHABET = 0.15
"""The share of single characters in a vocabulary from which they leave too little room for what is learned."""

SPACES = 0.1
"""The share of lone spaces among tokens from which they are told."""

COMING_BACK = 0.99
"""The share of lines below which it is told that they do not come back."""

COVERING = 0.9995
"""The share of a corpus that SentencePiece's alphabet covers by default."""

MANY = 0.01
"""The share of merges with rare pairs from which a vocabulary is called large."""


Naming = Callable[[str], str]
"""The name of a setting to whoever reads the advice."""


def flag(setting: str) -> str:
    """Return a setting's name on the command line."""
    return f"--{setting.replace('_', '-')}"


def advice(document: Mapping[str, Any], named: Naming = flag) -> list[str]:
    """Return a sentence or two for each thing to do; none where nothing is wrong."""
    settings = document["provenance"]["settings"]
    return [
        *_languages(document["fertility"], settings, named),
        *_size(document, settings, named),
        *_alphabet(document, settings, named),
        *_sample(document["sample"], settings, named),
        *_repeated(document["longest_tokens"], settings, named),
    ]


def learned_by(settings: Mapping[str, Any]) -> str:
    """Return what the model of these settings fills its vocabulary with."""
    return LEARNED.get(_model(settings), "pair")


def _model(settings: Mapping[str, Any]) -> str:
    return str(settings.get("model", "bpe"))


def _languages(
    fertility: Mapping[str, Mapping[str, Any] | None], settings: Mapping[str, Any], named: Naming
) -> Iterator[str]:
    known = {name: one for name, one in fertility.items() if one is not None and one["tokens"]}
    missing = [name for name, one in fertility.items() if one is None]
    unknown = [name for name, one in known.items() if one["unknown"] >= MARKED]
    lost = missing + unknown
    if lost:
        falls_back = (
            f"set {named('byte_fallback')}"
            if "byte_fallback" in settings
            else f"train {named('model')} bpe, which knows all bytes"
        )
        yield (
            f"The tokenizer has no tokens for a part of these texts: {_listed(lost)}. Add such text to the corpus if "
            f"the model is to read it, or {falls_back}."
        )
    bytes_ = {name: one["bytes"] / one["tokens"] for name, one in known.items() if name not in unknown}
    best = max(bytes_.values(), default=0.0)
    poor = [name for name, size in bytes_.items() if size < min(BYTES_A_TOKEN, POOR * best)]
    # Characters and whole words that are known cost what they cost, whatever the corpus has.
    if poor and _model(settings) not in ("word", "character"):
        worst = min(poor, key=lambda name: bytes_[name])
        yield (
            f"The corpus lacks {_listed(poor)}: there a token stands for {bytes_[worst]:.2f} bytes or little more, the "
            f"best text here has {best:.2f}. Add such text if the model is to read it; if not, nothing needs to be "
            "done."
        )


def _size(document: Mapping[str, Any], settings: Mapping[str, Any], named: Naming) -> Iterator[str]:
    size, wanted, learned = document["vocab_size"], document["asked_for"], document["learned"]
    is_by_likelihood = settings.get("score") == "likelihood"
    often = size if is_by_likelihood else size - learned["rare"]
    many = learned["rare"] > MANY * learned["merges"]
    seldom = f"{learned['rare']:,} of {learned['merges']:,} merges have pairs that occur less than {RARE} times"
    if size < wanted:
        limits = [name for name, usual in LIMITS.items() if name in settings and settings[name] not in usual]
        flags = [f"change {named(name)}" for name in limits]
        ways = ["give more text", *flags, f"ask for {often:,} tokens or fewer"]
        yield (
            f"The vocabulary is too large for the corpus: after {size:,} tokens no {learned_by(settings)} is left of "
            f"{wanted:,} asked for{f', and {seldom}' * many}. {', '.join(ways[:-1]).capitalize()}, or {ways[-1]}."
        )
    elif many:
        # The likelihood takes rare pairs first, so a smaller vocabulary would keep them.
        way = f", or ask for about {often:,} tokens" if learned["rare"] < learned["merges"] else ""
        if is_by_likelihood:
            way = f", or set {named('min_frequency')} {RARE}"
        yield (
            f"The vocabulary is large for the corpus: {seldom}, and a model learns little about a token that it sees "
            f"so rarely. Give more text{way}."
        )


def _alphabet(document: Mapping[str, Any], settings: Mapping[str, Any], named: Naming) -> Iterator[str]:
    characters, size = document["characters"], document["vocab_size"]
    if settings.get("character_coverage", 0) > COVERING and characters > ALPHABET * size:
        yield (
            f"Single characters are {characters:,} of {size:,} tokens, most of which occur rarely. Set "
            f"{named('character_coverage')} {COVERING} to leave out the rarest, with {named('byte_fallback')} if they "
            "must come back, or ask for more tokens."
        )


def _sample(sample: Mapping[str, int] | None, settings: Mapping[str, Any], named: Naming) -> Iterator[str]:
    if sample is None:
        return
    joins, keeps = "remove_extra_whitespaces", "allow_whitespace_only_pieces"
    share = sample["spaces"] / max(1, sample["tokens"])
    if share > SPACES and settings.get(keeps) is False:
        yield (
            f"Lone spaces are {share:.0%} of the tokens of the corpus. Set {named(keeps)}, so that several are one "
            f"token, or {named(joins)} to join them."
        )
    ways = {
        f"turn {named(joins)} off": settings.get(joins) is True,
        f"set {named('byte_fallback')}": settings.get("byte_fallback") is False,
        f"choose another {named('normalizer')}": bool(settings.get("normalizer")),
    }
    how = ", or ".join(way for way, is_open in ways.items() if is_open)
    if how and sample["back"] < COMING_BACK * sample["lines"]:
        yield (
            f"Only {sample['back']:,} of {sample['lines']:,} lines from the corpus come back from their tokens. If "
            f"they must, {how}."
        )


def _repeated(longest: Sequence[str], settings: Mapping[str, Any], named: Naming) -> Iterator[str]:
    long = list(dict.fromkeys(repr(token[:LONG]) for token in longest if len(token) >= LONG))
    # A word is long or not, however often its text comes.
    if long and "max_token_length" in settings:
        shown = ", ".join(long[:SHOWN])
        yield (
            f"Some tokens are very long, such as those that begin with {shown}: text that comes again and again. Leave "
            f"it out of the corpus, or set {named('max_token_length')}."
        )


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
