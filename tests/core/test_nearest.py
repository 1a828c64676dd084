"""What was mistyped is answered with the right name that is nearest, and never with one that is far."""

from __future__ import annotations

import time

import pytest

from tokenizer_core import InvalidSettings, Recipe, did_you_mean

KNOWN = ["text", "tokenizer", "special_tokens", "padding_side"]


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("texts", "text"),
        ("Text", "text"),
        ("tokeniser", "tokenizer"),
        ("special_token", "special_tokens"),
        ("specialTokens", "special_tokens"),
    ],
)
def test_the_nearest_name_is_named(word: str, near: str) -> None:
    assert did_you_mean(word, KNOWN) == f"; did you mean {near!r}?"


@pytest.mark.parametrize("word", ["", "x", "frequency_penalty", "\ud800", "\0" * 100])
def test_nothing_is_named_where_nothing_is_near(word: str) -> None:
    assert did_you_mean(word, KNOWN) == did_you_mean(word, []) == ""


def test_the_longest_names_cost_milliseconds() -> None:
    names = [f"{number:05}{'ab' * 500_000}" for number in range(100)] * 100
    started = time.process_time()
    did_you_mean("ab" * 5_000_000, names)
    assert time.process_time() - started < 0.5


def test_a_recipe_names_the_setting_that_was_meant() -> None:
    corpus = {"texts": ["a"]}
    with pytest.raises(InvalidSettings, match="did you mean 'vocab_size'"):
        Recipe.from_dict({"corpus": corpus, "vocabsize": 300})
    with pytest.raises(InvalidSettings, match="did you mean 'column'"):
        Recipe.from_dict({"corpus": {"paths": ["a.parquet"], "colum": "x"}})


def test_what_others_call_a_name_is_near_it_too() -> None:
    elsewhere = {"prompt": "text", "model": "tokenizer", "gone": "nothing"}
    for word, near in (("prompt", "text"), ("promt", "text"), ("Model", "tokenizer"), ("texts", "text")):
        assert did_you_mean(word, KNOWN, elsewhere) == f"; did you mean {near!r}?"
    assert did_you_mean("gone", KNOWN, elsewhere) == ""
    assert did_you_mean("model", ["model", "tokenizer"], elsewhere) == "; did you mean 'model'?"
