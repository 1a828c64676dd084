"""What callers give a training of another type is refused by the name of the argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tokenizer_core import (
    Recipe,
    TrainSettings,
    counted,
    extend,
    train,
    train_characters,
    train_sizes,
)
from tokenizer_core.errors import InvalidOption, InvalidSettings

TEXTS = ["low lower lowest"]


SURROGATE = "a\ud800"


@pytest.mark.parametrize("field", ["settings", "bos", "eos", "pad", "chat_template"])
@pytest.mark.parametrize("value", [5, True, b"text", SURROGATE])
def test_a_recipe_is_checked_when_it_is_made(field: str, value: Any) -> None:
    with pytest.raises(InvalidSettings) as caught:
        Recipe(**({"corpus": tuple(TEXTS), "settings": TrainSettings()} | {field: value}))
    assert caught.value.path == field


@pytest.mark.parametrize(
    ("field", "value", "path"),
    [
        *(("corpus", value, "corpus") for value in (None, 5, "text", b"text", {"paths": ["a"]})),
        *(("corpus", ["text", value], "corpus.texts[1]") for value in (None, 5, b"text", SURROGATE)),
        *(("extends", value, "extends") for value in ("", 5, True, b"path")),
        *(("replace_invalid", value, "replace_invalid") for value in (None, 1, "false")),
    ],
)
def test_a_recipe_that_is_made_of_objects_is_checked_as_one_that_is_read(field: str, value: Any, path: str) -> None:
    with pytest.raises(InvalidSettings) as caught:
        Recipe(**({"corpus": TEXTS, "settings": TrainSettings()} | {field: value}))
    assert caught.value.path == path


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("replace_invalid", value) for value in (None, 0, 1, "false")),
        *(("progress", value) for value in (5, True, "print", [])),
    ],
)
def test_an_option_of_a_run_of_another_type_is_refused_before_any_work(field: str, value: Any) -> None:
    def texts() -> Any:
        raise AssertionError("the corpus was read")
        yield

    short = train(iter(TEXTS), 257)
    runs: tuple[Callable[..., object], ...] = (
        lambda **options: train(texts(), 300, **options),
        lambda **options: extend(short, texts(), 300, **options),
        lambda **options: train_characters(texts(), 300, **options),
        lambda **options: counted(texts(), TrainSettings(), **options),
    )
    for run in runs:
        with pytest.raises(InvalidOption, match=f"^{field} is ") as caught:
            run(**{field: value})
        assert caught.value.place == {"field": field}


@pytest.mark.parametrize("sizes", [None, 5, True, 1.5, [], (), range(257, 10**12), [300] * 65])
def test_sizes_are_a_list_of_a_few(sizes: Any) -> None:
    with pytest.raises(InvalidOption, match="1 to 64 sizes") as caught:
        train_sizes(iter(TEXTS), sizes, TrainSettings())
    assert caught.value.place == {"field": "sizes"}
    if sizes:
        with pytest.raises(InvalidSettings, match="1 to 64 sizes"):
            Recipe(corpus=tuple(TEXTS), settings=TrainSettings(), sizes=sizes)


@pytest.mark.parametrize(
    ("field", "value"),
    [("end_of_word", 5), ("end_of_word", None), ("special_tokens", 5), ("special_tokens", None), ("vocab_size", True)],
)
def test_options_of_character_merges_of_another_type_are_refused(field: str, value: Any) -> None:
    with pytest.raises(InvalidOption) as caught:
        train_characters(iter(TEXTS), **({"vocab_size": 20} | {field: value}))
    assert caught.value.place == {"field": field}


def test_initial_merges_without_an_end_are_refused() -> None:
    merges: Any = range(10**12)
    with pytest.raises(InvalidOption, match="at most") as caught:
        TrainSettings(initial_merges=merges)
    assert caught.value.place == {"field": "initial_merges"}
