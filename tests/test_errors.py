"""An error crosses processes and is copied as it is, with all that it says."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator

import pytest

from service.client import Refused
from service.settings import InvalidSetting
from tokenizer_core import InputError, TokdError, Tokenizer


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
