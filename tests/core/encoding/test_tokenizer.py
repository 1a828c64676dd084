"""The facade as an object: copies, subclasses, twins, and what was never made."""

import copy
import json
import pickle
import threading
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.core.formats.small import document, model, write
from tests.support import vocabularies
from tokenizer_core import AddedToken, InvalidOption, Tokenizer
from tokenizer_core.stages import Pretokenizer

CALLS = {
    "encode": ("once upon a time",),
    "count": ("once upon a time",),
    "decode": ([72, 105],),
    "decode_bytes": ([72, 105],),
}


def test_a_copy_of_what_is_immutable_is_itself(tiny: Tokenizer) -> None:
    assert copy.copy(tiny) is tiny
    assert copy.deepcopy({"tokenizer": tiny})["tokenizer"] is tiny


@pytest.mark.parametrize("name", ["hash", "vocab_size", "special_tokens", "merges", "template_hash"])
def test_what_a_tokenizer_says_of_itself_cannot_be_set(tiny: Tokenizer, name: str) -> None:
    before = getattr(tiny, name)
    with pytest.raises(AttributeError):
        setattr(tiny, name, None)
    assert getattr(tiny, name) == before


def test_special_tokens_are_a_dict_that_belongs_to_the_caller(tiny: Tokenizer) -> None:
    specials = tiny.special_tokens
    assert json.loads(json.dumps(specials)) == specials
    specials["<|mine|>"] = 7
    assert "<|mine|>" not in tiny.special_tokens


def test_who_pickles_a_tokenizer_is_told_what_to_do_and_a_batch_is_pickled(tiny: Tokenizer) -> None:
    with pytest.raises(TypeError, match="open its artifact in each process"):
        pickle.dumps(tiny)
    batch = tiny.encode_batch(["once upon", "", "a time"])
    again = pickle.loads(pickle.dumps(batch))
    assert [row.tolist() for row in again] == [row.tolist() for row in batch]


def test_rows_of_a_batch_are_found_by_integers_alone(tiny: Tokenizer) -> None:
    batch = tiny.encode_batch(["once upon", "", "a time"])
    assert batch[np.int64(-1)].tolist() == batch[2].tolist() == tiny.encode("a time").tolist()
    for row in (3, -4, 10**30):
        with pytest.raises(IndexError, match=f"row {row} of a batch of 3"):
            batch[row]
    wrongs: list[Any] = [slice(2), 1.0, "0", None, (0, 1)]
    for wrong in wrongs:
        with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
            batch[wrong]


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ("once", "not one string"),
        (None, "not NoneType"),
        (5, "not int"),
        ({"once"}, "not set"),
        ((text for text in ("once", "upon")), "not generator; make a list of it"),
        (np.array(["once", "upon"]), "not ndarray; make a list of it"),
    ],
)
def test_texts_that_are_no_sequence_are_refused_with_the_way_out(tiny: Tokenizer, texts: Any, said: str) -> None:
    with pytest.raises(InvalidOption, match=said) as caught:
        tiny.encode_batch(texts)
    assert caught.value.place == {"field": "texts"}


@pytest.mark.parametrize("name", CALLS)
def test_a_tokenizer_that_was_never_made_says_so(name: str) -> None:
    with pytest.raises(RuntimeError, match="__init__"):
        getattr(Tokenizer.__new__(Tokenizer), name)(*CALLS[name])


@pytest.mark.parametrize("name", CALLS)
def test_options_are_keywords(tiny: Tokenizer, name: str) -> None:
    with pytest.raises(TypeError):
        getattr(tiny, name)(*CALLS[name], "text")
    with pytest.raises(TypeError):
        getattr(tiny, name)(*CALLS[name], unknown=True)


def test_a_tokenizer_is_made_once(tiny: Tokenizer) -> None:
    made = Tokenizer(tiny.parts)
    with pytest.raises(RuntimeError, match="immutable"):
        Tokenizer.__init__(made, tiny.parts)
    assert np.array_equal(made.encode("aaa bbb"), tiny.encode("aaa bbb"))


def test_a_subclass_with_arguments_of_its_own_encodes() -> None:
    class Named(Tokenizer):
        def __init__(self, label: str, other: Tokenizer) -> None:
            super().__init__(other.parts)
            self.label = label

    tokenizer = vocabularies.tokenizer("tiny")
    named = Named("mine", tokenizer)
    assert named.label == "mine"
    assert np.array_equal(named.encode("aaa bbb"), tokenizer.encode("aaa bbb"))
    assert named.decode(named.encode("aaa bbb")) == "aaa bbb"


def test_a_twin_with_another_template_has_the_class_and_the_attributes_of_its_origin() -> None:
    class Labelled(Tokenizer):
        def __init__(self, label: str, other: Tokenizer) -> None:
            super().__init__(other.parts)
            self.label = label

        @cached_property
        def seal(self) -> str:
            return f"{self.label} {self.template_hash}"

    origin = Labelled("mine", vocabularies.tokenizer("tiny"))
    assert (origin.seal, len(origin.templates)) == ("mine None", 0)
    twin = origin.with_template("{{ messages[0].content }}")
    assert type(twin) is Labelled
    assert (twin.label, twin.hash, len(twin.templates)) == ("mine", origin.hash, 1)
    assert twin.seal == f"mine {twin.template_hash}" != origin.seal
    assert repr(twin).startswith("Labelled('")


def test_a_twin_of_another_pipeline_encodes_by_it(tiny: Tokenizer) -> None:
    digits = replace(tiny.config, pretokenizer=(Pretokenizer("digits", individual=True), *tiny.config.pretokenizer))
    twin = tiny.with_parts(replace(tiny.parts, config=digits))
    assert twin.pieces("1234") == list("1234") != tiny.pieces("1234")
    assert twin.encode("1234").tolist() == [int(tiny.encode(digit)[0]) for digit in "1234"]


def test_a_twin_with_an_entry_as_its_special_token_can_be_saved(tmp_path: Path) -> None:
    """GPT-2's own vocabulary has its special token as an entry that no merge makes."""
    entries = document()["model"]["vocab"] | {"<s>": 264}
    bare = Tokenizer.from_hf(write(tmp_path / "source", document(added_tokens=[], model=model(entries))))
    token = AddedToken(id=264, content="<s>", special=True)
    twin = bare.with_parts(replace(bare.parts, config=replace(bare.config, added_tokens=(token,))))
    twin.save(tmp_path / "saved")
    assert Tokenizer.open(tmp_path / "saved").hash == twin.hash
    assert twin.encode("<s>", special_tokens="parse").tolist() == [264]


def test_threads_share_the_calls_of_one_object(tiny: Tokenizer) -> None:
    expected = [tiny.encode(f"aaa {at} bbb").tolist() for at in range(200)]
    found: dict[int, list[list[int]]] = {}

    def work(thread: int) -> None:
        found[thread] = [tiny.encode(f"aaa {at} bbb").tolist() for at in range(200)]

    threads = [threading.Thread(target=work, args=(at,)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(found.values()) == [expected] * 4
