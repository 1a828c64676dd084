"""Expressions of a ``tokenizer.json`` cut as Hugging Face's tokenizers cut, whose engine is Oniguruma."""

from __future__ import annotations

import json
import random
import sys
from typing import Any

import pytest
from tokenizers import Regex, pre_tokenizers

from tests.core.formats.expressions import SIMPLE, Grammar
from tests.core.formats.small import document
from tokenizer_core import InvalidArtifact, StepLimit, Tokenizer, Unsupported

ALPHABET = (
    *"abkKB1_-. \n\t", "\r\n", "é", "É", "Ⅷ", "²", "½", "٣", "\u200d", "\u0301", "\x85", "\u2028", "\xa0", "中", "🙂",
    "Σ", "ς",
)  # fmt: skip
ATOMS = (
    *"abkK1", "é", "Σ", " ", r"\.", r"\n", r"\x{4e2d}", ".", r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", r"\h", r"\H",
    r"\p{L}", r"\p{Lu}", r"\P{N}", r"\p{^L}", r"\p{Greek}", "[a-k]", r"[^\s\w]", "[a-z&&[^b]]", r"[\p{Lu}\d]", "[^a]",
    "[a-]", r"[\W_]", "[kK]", r"[[a]k\d]", r"\R",
)  # fmt: skip
ANCHORS = ("^", "$", r"\A", r"\z", r"\Z", r"\b", r"\B")
QUANTIFIERS = ("*", "+", "?", "{2}", "{1,3}", "{2,}", "{,2}", "*?", "+?", "??", "{1,2}?", "++", "?+", "*+", "{1,2}+")
GROUPS = ("({})", "(?:{})", "(?i:{})", "(?m:{})", "(?>{})", "(?-i:{})", "(?m-i:{})")
BEHAVIORS = ("isolated", "merged_with_previous", "merged_with_next", "contiguous")
EXPRESSIONS, TEXTS = 300, 8
GRAMMAR = Grammar(ATOMS, ANCHORS, GROUPS, QUANTIFIERS)


def expression(chance: random.Random, depth: int = 3) -> str:
    kind = chance.random() if depth else 0.0
    if kind < SIMPLE:
        return GRAMMAR.simple(kind, chance, lambda: expression(chance, depth - 1))
    if kind < 0.72:
        return chance.choice(ATOMS) + chance.choice(QUANTIFIERS)
    if kind < 0.8:
        return chance.choice(("(?={})", "(?!{})")).format(expression(chance, depth - 1)) + chance.choice(ATOMS)
    if kind < 0.84:
        return chance.choice(("(?<={})", "(?<!{})")).format(chance.choice("ab1 é")) + chance.choice(ATOMS)
    joint = chance.choice(("", "|"))
    return joint.join(expression(chance, depth - 1) for _ in range(chance.randint(2, 3)))


def cutter(pattern: str, behavior: str, tmp_path: Any) -> Tokenizer:
    name = "".join(part.capitalize() for part in behavior.split("_"))
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": name, "invert": False}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(document(pre_tokenizer={"type": "Sequence", "pretokenizers": [split, level]})))
    return Tokenizer.from_hf(path)


def test_random_expressions_cut_as_hugging_face(tmp_path: Any) -> None:
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    equal = refused = 0
    for _ in range(EXPRESSIONS):
        pattern, behavior = expression(chance), chance.choice(BEHAVIORS)
        try:
            theirs = pre_tokenizers.Split(Regex(pattern), behavior)
        except Exception:
            continue
        try:
            ours = cutter(pattern, behavior, tmp_path)
        except (InvalidArtifact, Unsupported):
            refused += 1
            continue
        for _ in range(TEXTS):
            text = "".join(chance.choices(ALPHABET, k=chance.randint(1, 25)))
            try:
                expected = [piece for piece, _ in theirs.pre_tokenize_str(text)]
            except BaseException as panic:
                # Oniguruma gives up on an expression that backtracks too often, and Hugging Face panics then.
                if "retry-limit" not in str(panic):
                    raise
                continue
            try:
                found = ours.pieces(text)
            except StepLimit:
                continue
            assert found == expected, (seed, pattern, behavior, text)
            equal += 1
    sys.stdout.write(f"seed {seed}: {equal} texts cut alike, {refused} expressions refused\n")
    assert equal > EXPRESSIONS
    assert refused < EXPRESSIONS / 3


@pytest.mark.parametrize(
    "pattern",
    [
        r"[\P{Lu}]",
        r"[^\P{Ll}k]",
        "[[^a]]",
        "[^[^a]]",
        r"[\w&&[^b]]",
        r"[^\p{^L}]",
        "[^k\u017f]",
        r"[\p{Lu}1]",
        r"\P{Lu}",
    ],
)
def test_the_cases_of_a_class_are_those_of_what_it_holds_as_a_whole(pattern: str, tmp_path: Any) -> None:
    text = "aAbBkK1\u212aéÉ_ Σσς\nǆǅ\u0345ι"
    theirs = pre_tokenizers.Split(Regex(f"(?i:{pattern})"), "isolated").pre_tokenize_str(text)
    assert cutter(f"(?i:{pattern})", "isolated", tmp_path).pieces(text) == [piece for piece, _ in theirs]


@pytest.mark.parametrize(
    "pattern",
    [
        r"[\w--_]",
        "[a-s~~b]",
        "[[:alpha:]]",
        r"\pL",
        r"(?s)a",
        "(?x) a",
        "a{2}?",
        r"\p{Graph}",
        r"[^\P{ pri_nt}]",
        r"\u{17F}",
        r"[\U0000017f]",
        r"\xc3\xa9",
    ],
)
def test_what_engines_read_in_their_own_way_is_refused_by_name(pattern: str, tmp_path: Any) -> None:
    with pytest.raises(InvalidArtifact, match="does not compile"):
        cutter(pattern, "isolated", tmp_path)
