"""Hand-written scanners against the ``regex`` module on the same version of Unicode."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from tests.support.texts import ALPHABET, texts
from tests.support.vocabularies import build, split
from tokenizer_core import Tokenizer, patterns
from tokenizer_core.errors import InvalidOption
from tokenizer_core.reference.patterns import PATTERNS
from tokenizer_core.reference.pretokenize import pretokenize
from tokenizer_core.reference.unicode_classes import categories, members
from tokenizer_core.stages import Pretokenizer

every_scanner = pytest.mark.parametrize("name", PATTERNS)
CONTEXTS = ("a{0}b 1{0}.{0}", " {}", "a{}b", "A{}\n", "1{}1", "'{}s", ".{} ", "\t{}/\r")
"""Every code point below U+40000 stands in each; beyond, where next to nothing is assigned, in the first."""
CHUNK = 256
"""As many as a block of Unicode has: whole blocks of one kind have the same stand-ins, and are cut by regex once."""
FOLDS_TO_ASCII = {0x0130, 0x0131, 0x017F, 0x212A}


def scanner(name: str) -> Tokenizer:
    """Build a tokenizer that only cuts."""
    return build(pretokenizer=(split(name),))


def cut_by_regex(name: str, text: str) -> list[str]:
    """Cut a text with the ``regex`` module."""
    return pretokenize([{"type": "split", "pattern": {"name": name}, "behavior": "isolated"}], text)


def in_context(code_points: Iterable[int], contexts: Iterable[str] = CONTEXTS) -> list[str]:
    """Put every code point into every context, many to a text."""
    scalars = [chr(code_point) for code_point in code_points if not 0xD800 <= code_point < 0xE000]
    return [
        "".join(context.format(character) for character in scalars[start : start + CHUNK])
        for start in range(0, len(scalars), CHUNK)
        for context in contexts
    ]


@cache
def stand_ins() -> dict[int, int]:
    """Map every character to an old one of the same general category and the same white space.

    A pattern sees a character through these and through the few that it names, all of them ASCII but for U+017F, which
    folds to s; those stand for themselves. So the module's own tables can cut the text, ten times as fast.
    """
    white, first = members("White_Space"), {}
    kinds = {category: regex.compile(rf"\p{{{category}}}") for category in set(categories())}
    table = {}
    for code_point, category in enumerate(categories()):
        kind = category, code_point in white
        known = kinds[category].match(chr(code_point)) is not None
        if code_point > 0x7F and code_point not in FOLDS_TO_ASCII and known:
            first.setdefault(kind, code_point)
            table[code_point] = first[kind]
        elif code_point > 0x7F and code_point not in FOLDS_TO_ASCII:
            table[code_point] = first[kind]
    return table


@cache
def every_code_point() -> list[tuple[str, str]]:
    """Return texts with every code point in context, each also with the stand-ins."""
    texts = in_context(range(0x40000), CONTEXTS) + in_context(range(0x40000, 0x110000), CONTEXTS[:1])
    return [(text, text.translate(stand_ins())) for text in texts]


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(set(PATTERNS) - set(patterns.ALIASES)))
def test_every_code_point_in_context_is_cut_as_by_regex(name: str) -> None:
    ours, theirs = scanner(name), regex.compile(PATTERNS[name])
    lengths = cache(lambda stood_in: [*map(len, theirs.findall(stood_in))])
    for text, stood_in in every_code_point():
        assert [*map(len, ours.pieces(text))] == lengths(stood_in)


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(set(PATTERNS) - set(patterns.ALIASES)))
def test_the_first_planes_characters_are_cut_as_by_regex_without_stand_ins(name: str) -> None:
    ours = scanner(name)
    for text in in_context(range(0, 0x20000, 17)):
        assert ours.pieces(text) == cut_by_regex(name, text)


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(set(PATTERNS) - set(patterns.ALIASES)))
def test_every_pair_and_triple_of_hostile_units_is_cut_as_by_regex(name: str) -> None:
    ours = scanner(name)
    for first in ALPHABET:
        text = "".join(f"{first}{second}{third}" for second in ALPHABET for third in ALPHABET[::29])
        assert ours.pieces(text) == cut_by_regex(name, text)
        for second in ALPHABET:
            assert ours.pieces(first + second) == cut_by_regex(name, first + second)


@every_scanner
@given(text=texts)
def test_any_text_is_cut_as_by_regex(name: str, text: str) -> None:
    assert scanner(name).pieces(text) == cut_by_regex(name, text)


@every_scanner
@given(text=texts)
def test_a_scanner_cuts_as_the_kernels_own_regex_engine(name: str, text: str) -> None:
    spelled = "(?:" + patterns.PATTERNS[patterns.ALIASES.get(name, name)] + ")"
    assert scanner(name).pieces(text) == build(pretokenizer=(split(spelled),)).pieces(text)


@pytest.mark.parametrize("name", patterns.PATTERNS)
def test_the_texts_of_named_patterns_are_the_references(name: str) -> None:
    assert patterns.PATTERNS[name] == PATTERNS[name]


BEHAVIORS = st.sampled_from(["isolated", "contiguous", "merged_with_previous", "merged_with_next"])
REGEXES = st.sampled_from(
    [r"\s+", r"\p{N}", r"\p{Lu}\p{Ll}*", r"[^\s\p{L}]+", r"(?i:s)|\d{1,2}", r"\p{M}", "a|ab", "."]
)


@given(text=texts, first=REGEXES, second=REGEXES, behavior=BEHAVIORS, invert=st.booleans(), individual=st.booleans())
def test_stages_refine_as_in_the_reference(
    text: str, first: str, second: str, behavior: str, invert: bool, individual: bool
) -> None:
    ours = build(
        pretokenizer=(split(first, behavior, invert), Pretokenizer("digits", individual=individual), split(second))
    )
    stages = [
        {"type": "split", "pattern": {"regex": first}, "behavior": behavior, "invert": invert},
        {"type": "digits", "individual": individual},
        {"type": "split", "pattern": {"regex": second}, "behavior": "isolated"},
    ]
    assert ours.pieces(text) == pretokenize(stages, text)


@pytest.mark.parametrize(
    ("spelled", "name"),
    [(rf"\p{{{name}}}", name) for name in ("L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "N", "Nd", "P", "S")]
    + [(r"\s", "White_Space"), (r"\w", "Word"), (r"\d", "Nd")],
)
def test_classes_of_the_regex_engine_are_of_the_pinned_version(spelled: str, name: str) -> None:
    # A match is a piece of its own, so a doubled member is two pieces and anything else is one.
    ours = build(pretokenizer=(split(spelled),))
    inside = members(name)
    scalars = [*range(0xD800), *range(0xE000, 0x110000)]
    pieces = ours.pieces("".join(map(chr, scalars)))
    alone = {ord(piece) for piece in pieces if len(piece) == 1 and ord(piece) in inside}
    assert alone == inside
    assert not any(ord(character) in inside for piece in pieces if len(piece) > 1 for character in piece)


def test_the_kernels_path_is_chosen_by_name_and_a_wrong_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "It's 日本語 12345  \n\n naïve ABCdef! " * 20
    for name in PATTERNS:
        monkeypatch.delenv("TOKD_KERNEL", raising=False)
        pieces = scanner(name).pieces(text)
        monkeypatch.setenv("TOKD_KERNEL", "portable")
        assert scanner(name).pieces(text) == pieces == cut_by_regex(name, text)
    monkeypatch.setenv("TOKD_KERNEL", "avx1024")
    with pytest.raises(InvalidOption, match=r"TOKD_KERNEL is .*not a level.* one of avx2, portable"):
        scanner("gpt2")
