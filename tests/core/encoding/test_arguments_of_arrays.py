"""What callers give the library where arrays or the body of a request may be meant: refused by the argument's name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tokenizer_core import Files, Recipe, Responder, Tokenizer, TrainSettings, fertility, shape_rows, train, train_sizes
from tokenizer_core.errors import InvalidOption, TokdError

ROW = np.arange(3, dtype=np.uint32)

ODD: tuple[Any, ...] = (
    np.array(3),
    np.array("a"),
    np.array([1, 2]),
    np.ma.masked_equal([1, 2], 1),
    np.zeros(2, "u4,u4"),
)
"""Arrays: those without a dimension look like sequences, and of others it cannot be said whether they equal a word."""

WITH_ODD: dict[str, tuple[str, Callable[[Tokenizer, Any], object]]] = {
    "open": ("path", lambda _, value: Tokenizer.open(value)),
    "save": ("path", lambda tokenizer, value: tokenizer.save(value)),
    "special_tokens": ("special_tokens", lambda tokenizer, value: chat(tokenizer, special_tokens=value)),
    "labels": ("train_on", lambda tokenizer, value: chat(tokenizer).labels(train_on=value)),
    "straddling": ("train_on", lambda tokenizer, value: chat(tokenizer).straddling(train_on=value)),
    "corpus": ("corpus", lambda _, value: train(value, 300)),
    "format": ("corpus.format", lambda _, value: Files(paths=("a",), format=value)),
    "sizes": ("sizes", lambda _, value: Recipe(corpus=("low",), settings=TrainSettings(), sizes=value)),
    "texts": ("text", lambda tokenizer, value: fertility(tokenizer, value)),
}


def chat(tokenizer: Tokenizer, **options: Any) -> Any:
    templated = tokenizer.with_template("{% for message in messages %}{{ message.content }}{% endfor %}")
    return templated.encode_chat([{"role": "user", "content": "low"}], **options)


@pytest.mark.parametrize("called", WITH_ODD)
def test_an_array_where_another_thing_is_meant_is_refused_by_its_name(tiny: Tokenizer, called: str) -> None:
    field, ask = WITH_ODD[called]
    for value in ODD:
        with pytest.raises(TokdError) as caught:
            ask(tiny, value)
        # In an array of numbers a single item may be what is wrong.
        assert str(caught.value.place["field"]).startswith(field)


def test_sizes_in_an_array_without_a_dimension_are_refused() -> None:
    with pytest.raises(InvalidOption, match=r"^sizes is ") as caught:
        train_sizes(iter(["low"]), np.array(3), TrainSettings())  # type: ignore[arg-type]
    assert caught.value.place == {"field": "sizes"}


@pytest.mark.parametrize(("fill", "dtype"), [(10**30, np.int64), (-1, np.uint32), (300, np.uint8)])
def test_what_fills_a_row_is_a_number_that_its_values_can_be(fill: int, dtype: Any) -> None:
    row, _ = shape_rows([ROW, np.arange(9, dtype=np.uint32)], padding="longest", pad_id=0)
    with pytest.raises(InvalidOption, match=f"^fill is a number that an array of {np.dtype(dtype)} can hold") as caught:
        row.carry(ROW.astype(dtype), fill)
    assert caught.value.place == {"field": "fill"}
    assert row.carry(ROW.astype(np.int8), -1).tolist() == [0, 1, 2, *[-1] * 6]


ANSWERS: dict[str, dict[str, Any]] = {
    "answer_texts": {"route": "encode", "body": b'{"text":"low"}', "reference": None, "max_items": 9, "threads": 1},
    "answer_ids": {"body": b'{"ids":[1]}', "reference": None}
    | dict.fromkeys(("max_ids", "max_rows", "max_values"), 99),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_is_given_with_a_body_is_of_its_type(tiny: Tokenizer, name: str) -> None:
    ask, given = getattr(Responder(tiny, b"{"), name), ANSWERS[name]
    assert ask(**given) is not None
    for field in given:
        for value in (5.5, "\ud800" if field in ("route", "reference") else "text", object(), ROW):
            with pytest.raises((TypeError, UnicodeEncodeError)):
                ask(**(given | {field: value}))
        for value in (-1, 1 << 64) if field.startswith("max") else ():
            with pytest.raises(OverflowError):
                ask(**(given | {field: value}))


def test_a_responder_answers_for_a_tokenizer_that_is_built() -> None:
    with pytest.raises(RuntimeError, match="__init__ has not been called"):
        Responder(Tokenizer.__new__(Tokenizer), b"{")
    with pytest.raises(TypeError):
        Responder("tokenizer", b"{")  # type: ignore[arg-type]
