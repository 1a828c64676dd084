"""What is shown of results, and of the package: enough for a person, however long the values are."""

import dataclasses

import pytest

import tokenizer_core
from tests.support.tokenizers import write_layout
from tokenizer_core import Tokenizer, check, compare
from tokenizer_core.short_repr import ShortRepr

TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return Tokenizer.from_hf(write_layout(tmp_path_factory.mktemp("shown") / "hf")).with_template(TEMPLATE)


def test_long_results_are_shown_in_a_few_lines(tokenizer):
    text = "the harbour master " * 500
    chat = tokenizer.encode_chat([{"role": "user", "content": text}])
    for result in (
        chat,
        chat.rendered,
        tokenizer.encode_batch([text] * 100),
        tokenizer.offsets(text),
        tokenizer.encode_pair(text, text),
        tokenizer.parts,
        tokenizer.settings,
        tokenizer.config,
        compare([tokenizer], texts={"a": [text]}),
        check(tokenizer),
    ):
        shown = repr(result)
        assert len(shown) < 600, shown
        assert "\n" not in shown
        assert shown.startswith(type(result).__name__ + "(")
    assert "<uint32 of shape" in repr(chat)


def test_every_result_that_holds_arrays_or_texts_is_shown_so():
    names = [name for name in tokenizer_core.__all__ if isinstance(getattr(tokenizer_core, name), type)]
    for name in names:
        kind = getattr(tokenizer_core, name)
        if dataclasses.is_dataclass(kind) and any(
            "NDArray" in str(each.type) or "Ids" in str(each.type) for each in dataclasses.fields(kind)
        ):
            assert issubclass(kind, ShortRepr), name


def test_short_results_are_shown_whole(tokenizer):
    found = tokenizer.offsets("a")
    ids = f"array([{found.ids[0]}], dtype=uint32)"
    assert repr(found) == f"Offsets(ids={ids}, spans=array([[0, 1]], dtype=uint32), unit='char')"


def test_the_package_lists_what_a_person_needs():
    listed = dir(tokenizer_core)
    assert len(listed) < 80
    assert {"Tokenizer", "TokdError", "train", "check", "compare", "encode_corpus", "pack"} <= set(listed)
    assert not [name for name in listed if name.startswith("_")]
    assert set(listed) < set(tokenizer_core.__all__)
    for name in tokenizer_core.__all__:
        assert getattr(tokenizer_core, name) is not None
