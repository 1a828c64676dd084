"""An error crosses processes and is copied as it is, with all that it says."""

from __future__ import annotations

import copy
import pickle
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from service.client import Refused
from service.setting_values import InvalidSetting
from tokenizer_core import Bounds, Files, InputError, InvalidOption, TokdError, Tokenizer, padded_width


def kinds(root: type[TokdError]) -> Iterator[type[TokdError]]:
    """Return a class of errors and all below it that the project has."""
    if root.__module__.startswith(("tokenizer_core", "service")):
        yield root
    for kind in root.__subclasses__():
        yield from kinds(kind)


def one_of(kind: type[TokdError]) -> TokdError:
    if issubclass(kind, Refused):
        return kind("no", code="queue_full", status=429, path="ids[3]", retry_after=2.0)
    return kind("no", code="some_code", field="ids[3]", span=[1, 2])


ERRORS: list[Exception] = [*map(one_of, kinds(TokdError)), InvalidSetting("TOKD_PORT", "is 5")]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_is_pickled_and_copied_with_all_that_it_says(error: Exception) -> None:
    error.add_note("a note")
    copies = [copy.copy(error), copy.deepcopy(error)]
    copies += [pickle.loads(pickle.dumps(error, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    for again in copies:
        assert type(again) is type(error)
        assert (str(again), again.args, vars(again)) == (str(error), error.args, vars(error))


def test_an_error_of_the_kernel_is_pickled(tiny: Tokenizer) -> None:
    with pytest.raises(InputError) as caught:
        tiny.decode([2**40])
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.code, again.place) == (caught.value.code, caught.value.place)


class Nameless:
    """It fails where it is asked for its text."""

    def __repr__(self) -> str:
        raise RuntimeError


GIVEN: dict[str, Callable[[Tokenizer, Any], object]] = {
    "flag": lambda tok, value: tok.render_chat([{"role": "user", "content": "x"}], add_generation_prompt=value),
    "word": lambda tok, value: tok.offsets("a", unit=value),
    "number": lambda tok, value: padded_width([1], padding="max_length", max_length=value),
    "text": lambda tok, value: Files(paths=("x",), field=value),
    "path": lambda tok, value: Tokenizer.open(value),
    "flag of bounds": lambda tok, value: Bounds(public_addresses_only=value),
}


@pytest.mark.parametrize("give", GIVEN.values(), ids=GIVEN)
def test_what_has_no_text_or_a_long_one_is_refused_by_its_name_at_once(
    tiny: Tokenizer, give: Callable[[Tokenizer, Any], object]
) -> None:
    huge = 10**5000
    many = [0] * 2_000_000
    for value in (-huge, [huge], {"a": huge}, Nameless(), [Nameless()], many):
        tracemalloc.start()
        try:
            with pytest.raises(InvalidOption) as caught:
                give(tiny, value)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert caught.value.place["field"]
        assert len(caught.value.message) < 250
        assert peak < 4_000_000


def test_a_tokenizer_can_be_referred_to_weakly(tiny: Tokenizer) -> None:
    assert weakref.ref(tiny)() is tiny
