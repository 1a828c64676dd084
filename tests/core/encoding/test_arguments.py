"""What callers give the library: anything of another type is refused by the name of the argument."""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tokenizer_core import (
    Files,
    Recipe,
    Settings,
    Tokenizer,
    TrainingRun,
    TrainSettings,
    check,
    check_artifact,
    counted,
    extend,
    fertility,
    fertility_by_language,
    overlapping,
    padded_width,
    shape_rows,
    to_huggingface,
    to_tiktoken,
    to_vocab_merges,
    train,
    train_characters,
    train_sizes,
)
from tokenizer_core.config import TokenizerParts
from tokenizer_core.errors import InvalidArtifact, InvalidOption, TokdError

TEXTS = ["low lower lowest"]
SURROGATE = "a\ud800"
NO_PATHS: tuple[Any, ...] = (None, 5, True, b"bytes", ["list"], "")
ROW = np.arange(3, dtype=np.uint32)
TUPLES = ("named_templates", "extra", "pair_template")


@pytest.fixture
def ranks(tmp_path: Path) -> Path:
    path = tmp_path / "bytes.tiktoken"
    path.write_bytes(b"".join(b"%s %d\n" % (base64.b64encode(bytes([byte])), byte) for byte in range(256)))
    return path


READ: dict[str, tuple[str, Callable[[Any], object]]] = {
    "open": ("path", Tokenizer.open),
    "from_hf": ("path", Tokenizer.from_hf),
    "from_tiktoken": ("path", lambda path: Tokenizer.from_tiktoken(path, pattern="gpt2")),
    "vocab": ("vocab", lambda path: Tokenizer.from_vocab_merges(path, "merges.txt")),
    "merges": ("merges", lambda path: Tokenizer.from_vocab_merges("vocab.json", path)),
    "check_artifact": ("path", check_artifact),
}


def places(tiny: Tokenizer, folder: Path) -> dict[str, Callable[[Any], object]]:
    recipe = Recipe.from_dict({"corpus": {"texts": TEXTS}, "vocab_size": 258})
    run = TrainingRun(folder / "run", recipe)
    return {
        "path": tiny.save,
        "directory": train_characters(iter(TEXTS), 20).save,
        "directory of a run": lambda path: TrainingRun(path, recipe),
        "path of counts": counted(iter(TEXTS), TrainSettings(vocab_size=258)).save,
        "path of a run": run.save_counts,
        "target": run.publish,
        "root": run.publish_under,
    }


@pytest.mark.parametrize("reader", READ)
def test_what_is_no_path_to_read_is_refused(reader: str) -> None:
    field, read = READ[reader]
    for path in NO_PATHS:
        with pytest.raises(InvalidOption, match=f"^{field} is (a path|empty)") as caught:
            read(path)
        assert caught.value.place == {"field": field}


def test_what_is_no_path_to_write_is_refused(tiny: Tokenizer, tmp_path: Path) -> None:
    for name, write in places(tiny, tmp_path).items():
        field = name.split()[0]
        for path in (*NO_PATHS, SURROGATE, "a\0b"):
            with pytest.raises(InvalidOption, match=f"^{field} ") as caught:
                write(path)
            assert caught.value.place == {"field": field}


def test_an_error_can_be_written_whatever_it_repeats() -> None:
    for read in (Tokenizer.open, Tokenizer.from_hf):
        with pytest.raises(TokdError) as caught:
            read(f"nowhere/{SURROGATE}")
        for text in (str(caught.value), caught.value.message, *map(str, caught.value.place.values())):
            text.encode("utf-8")


def test_special_tokens_have_ids_of_numpy_too(ranks: Path) -> None:
    expected = Tokenizer.from_tiktoken(ranks, pattern="gpt2", special_tokens={"<a>": 256, "<b>": 257})
    given = {"<a>": np.int64(256), "<b>": np.uint16(257)}
    made = Tokenizer.from_tiktoken(ranks, pattern="gpt2", special_tokens=given)  # type: ignore[arg-type]
    assert made.hash == expected.hash


@pytest.mark.parametrize("given", [(), [], 0, "", False, ["<a>"], {5: 256}, {None: 256}])
def test_special_tokens_that_are_no_mapping_of_literals_are_refused(ranks: Path, given: Any) -> None:
    with pytest.raises(InvalidOption) as caught:
        Tokenizer.from_tiktoken(ranks, pattern="gpt2", special_tokens=given)
    assert caught.value.place == {"field": "special_tokens"}


@pytest.mark.parametrize("id", [True, 256.0, "256", None, np.float64(256), np.True_, -1, np.int8(-1), 2**40])
def test_special_tokens_with_other_ids_are_refused(ranks: Path, id: Any) -> None:
    with pytest.raises(InvalidArtifact) as caught:
        Tokenizer.from_tiktoken(ranks, pattern="gpt2", special_tokens={"<a>": id})
    assert (caught.value.code, caught.value.place) == ("id_out_of_range", {"field": "added_tokens[0].id"})


SURROGATES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "special_tokens": (
        "added_tokens[1].content",
        lambda ranks: Tokenizer.from_tiktoken(ranks, pattern="gpt2", special_tokens={"<a>": 256, SURROGATE: 257}),
    ),
    "field": ("corpus.field", lambda _: train(Files(paths=("x.jsonl",), field=SURROGATE), 300)),
    "column": ("corpus.column", lambda _: train(Files(paths=("x.parquet",), column=SURROGATE), 300)),
    "end_of_word": ("end_of_word", lambda _: train_characters(iter(TEXTS), 20, end_of_word=SURROGATE)),
    "tie_break": ("tie_break", lambda _: train(iter(TEXTS), 300, tie_break=SURROGATE)),  # type: ignore[arg-type]
    "trained special_tokens": ("special_tokens[0]", lambda _: train(iter(TEXTS), 300, special_tokens=[SURROGATE])),
    "trained pattern": ("pattern", lambda _: train(iter(TEXTS), 300, pattern=f"{SURROGATE}+")),
}


@pytest.mark.parametrize("surface", SURROGATES)
def test_a_lone_surrogate_in_an_option_is_named_with_its_field(ranks: Path, surface: str) -> None:
    field, ask = SURROGATES[surface]
    with pytest.raises(TokdError) as caught:
        ask(ranks)
    assert caught.value.place["field"] == field
    caught.value.message.encode("utf-8")


@pytest.mark.parametrize("field", ["vocabulary", "config", "settings", "name", "provenance"])
@pytest.mark.parametrize("value", [5, None, [], SURROGATE])
def test_the_parts_of_a_tokenizer_are_checked_when_they_are_put_together(
    tiny: Tokenizer, field: str, value: Any
) -> None:
    given: dict[str, Any] = {"vocabulary": tiny.parts.vocabulary, "config": tiny.config}
    with pytest.raises(InvalidOption) as caught:
        TokenizerParts(**(given | {field: value}))
    assert caught.value.place == {"field": field}


@pytest.mark.parametrize(
    ("field", "value", "place"),
    [
        *((side, value, side) for side in ("padding_side", "truncation_side") for value in (None, 5, "middle", ROW)),
        *(("model_max_length", value, "model_max_length") for value in ("5", 1.5, True)),
        *((name, value, name) for name in TUPLES for value in (5, "ab", {"tool_use": "source"})),
        *((name, (value,), f"{name}[0]") for name in TUPLES for value in ("ab", ("a",), ("a", 5), ("a", SURROGATE))),
    ],
)
def test_a_choice_beside_a_tokenizer_is_of_its_type(field: str, value: Any, place: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        Settings(**{field: value})
    assert caught.value.place == {"field": place}


@pytest.mark.parametrize("field", ["bos", "eos", "pad", "unk", "chat_template"])
@pytest.mark.parametrize("value", [5, True, b"text", SURROGATE])
def test_what_accompanies_a_tokenizer_is_unicode(field: str, value: Any) -> None:
    with pytest.raises(InvalidOption) as caught:
        Settings(**{field: value})
    assert caught.value.place == {"field": field}


@pytest.mark.parametrize("source", [None, 5, b"text", ["text"], {}, SURROGATE])
def test_a_template_that_is_no_text_is_refused_by_its_name(tiny: Tokenizer, source: Any) -> None:
    with pytest.raises(InvalidOption) as caught:
        tiny.with_template(source)
    assert caught.value.place == {"field": "source"}


@pytest.mark.parametrize("values", [None, 5, [1, 2, 3], ROW[:2], np.arange(4), np.array(3)])
def test_a_row_carries_one_value_a_token(values: Any) -> None:
    row, _ = shape_rows([ROW, np.arange(9, dtype=np.uint32)], padding="longest", pad_id=0, max_length=6)
    with pytest.raises(InvalidOption) as caught:
        row.carry(values)
    assert caught.value.place == {"field": "values"}
    with pytest.raises(InvalidOption) as caught:
        row.carry(ROW, fill=1.5)  # type: ignore[arg-type]
    assert caught.value.place == {"field": "fill"}


@pytest.mark.parametrize("rows", [1.5, True, "7", float("nan"), 0, -1, b"7", [7]])
def test_embedding_rows_are_a_whole_number(tiny: Tokenizer, rows: Any) -> None:
    for ask in (lambda: check(tiny, embedding_rows=rows), lambda: check_artifact("nowhere", embedding_rows=rows)):
        with pytest.raises(InvalidOption, match="a whole number from 1 on") as caught:
            ask()
        assert caught.value.place == {"field": "embedding_rows"}


class Named(Tokenizer):
    """A tokenizer with an attribute and a cached property."""

    title = "of the class"

    @cached_property
    def size(self) -> int:
        return self.vocab_size


def test_a_longer_tokenizer_of_a_subclass_is_one_of_that_class() -> None:
    short = Named(train(iter(TEXTS), 257).parts, cache_bytes=0)
    short.title = "of the object"
    assert short.size == 257
    long = extend(short, iter(TEXTS), 258)
    assert isinstance(long, Named)
    assert (long.title, long.size, short.size) == ("of the object", 258, 257)
    assert long.hash == extend(Tokenizer(short.parts), iter(TEXTS), 258).hash
    finished = Recipe.from_dict({"corpus": {"texts": TEXTS}, "vocab_size": 258, "name": "mine"}).finished(long)
    assert isinstance(finished, Named)
    assert (finished.title, finished.name, finished.hash) == (long.title, "mine", long.hash)


@pytest.mark.parametrize("given", [None, 5, "text", object(), {}])
def test_what_is_no_object_of_this_package_is_refused_by_name(given: Any) -> None:
    asked: dict[str, Callable[[], object]] = {
        "settings": lambda: train_sizes(iter(TEXTS), [257], given),
        "settings of counts": lambda: counted(iter(TEXTS), given),
        "tokenizer": lambda: extend(given, iter(TEXTS), 300),
        "tokenizer of a check": lambda: check(given),
        "tokenizer of texts": lambda: fertility(given, TEXTS),
        "recipe": lambda: TrainingRun("nowhere", given),
        "tokenizer of a recipe": lambda: Recipe(corpus=tuple(TEXTS), settings=TrainSettings()).finished(given),
        "parts": lambda: Tokenizer(given),
        "parts of a twin": lambda: train(iter(TEXTS), 257).with_parts(given),
        "parts for Hugging Face": lambda: to_huggingface(given),
        "parts for tiktoken": lambda: to_tiktoken(given),
        "parts for GPT-2": lambda: to_vocab_merges(given),
    }
    for name, ask in asked.items():
        with pytest.raises(InvalidOption) as caught:
            ask()
        assert caught.value.place == {"field": name.split()[0]}
    assert not Path("nowhere").exists()


@pytest.mark.parametrize("texts", [None, 5, "text"])
def test_texts_to_measure_are_several(tiny: Tokenizer, texts: Any) -> None:
    for measure in (fertility, fertility_by_language):
        with pytest.raises(InvalidOption) as caught:
            measure(tiny, texts)
        assert caught.value.place == {"field": "texts"}


@pytest.mark.parametrize("field", ["prefix", "suffix"])
@pytest.mark.parametrize("value", [None, "1", 1.0, True, -1, [1]])
def test_special_tokens_round_a_row_are_counted_by_whole_numbers(field: str, value: Any) -> None:
    with pytest.raises(InvalidOption) as caught:
        shape_rows([ROW], max_length=2, **{field: value})
    assert caught.value.place == {"field": field}


@pytest.mark.parametrize(
    ("rows", "field"),
    [
        *((rows, "rows") for rows in (None, 5, "12", b"12", {1: 2})),
        *(([ROW, row], "rows[1]") for row in (None, 5, "12", [1, 2], ROW.astype(float), ROW[:, None])),
    ],
    ids=str,
)
def test_rows_are_arrays_of_ids(rows: Any, field: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        shape_rows(rows)
    assert caught.value.place == {"field": field}


@pytest.mark.parametrize("field", ["max_length", "pad_to_multiple_of"])
@pytest.mark.parametrize("value", ["8", 8.0, True, [8], -8])
def test_a_width_is_a_whole_number(field: str, value: Any) -> None:
    with pytest.raises(InvalidOption) as caught:
        padded_width([1, 2], padding="longest", **{field: value})
    assert caught.value.place == {"field": field}


@pytest.mark.parametrize(
    "lengths", [None, 5, "12", {1: 2}, {1}, [1.5], ["1"], [None], [-1], range(10**12), ROW.astype(float)], ids=str
)
def test_lengths_are_a_list_of_a_few_whole_numbers(lengths: Any) -> None:
    with pytest.raises(InvalidOption) as caught:
        padded_width(lengths, padding="longest")
    assert caught.value.place == {"field": "lengths"}
    assert padded_width(ROW, padding="longest") == 2  # type: ignore[arg-type]


SPANS = np.array([[0, 2], [2, 3]])


@pytest.mark.parametrize("field", ["spans", "targets"])
@pytest.mark.parametrize("value", [None, [[0, 2]], "02", SPANS[0], SPANS[:, :1], SPANS[None], SPANS / 2, SPANS > 1])
def test_what_is_no_array_of_spans_overlaps_nothing(field: str, value: Any) -> None:
    with pytest.raises(InvalidOption, match=f"^{field} is an array of integers") as caught:
        overlapping(**({"spans": SPANS, "targets": SPANS} | {field: value}))
    assert caught.value.place == {"field": field}


def test_roles_to_train_on_are_refused_at_the_first_that_is_none(tiny: Tokenizer) -> None:
    template = "{% for message in messages %}{{ message.content }}{% endfor %}"
    chat = tiny.with_template(template).encode_chat([{"role": "user", "content": "low"}])
    roles: Any = range(10**12)
    for ask in (chat.labels, chat.straddling):
        with pytest.raises(InvalidOption) as caught:
            ask(train_on=roles)
        assert caught.value.place == {"field": "train_on"}
