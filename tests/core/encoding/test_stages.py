"""Stages, added tokens and pipelines are checked when they are made."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tokenizer_core import AddedToken, PipelineConfig
from tokenizer_core.errors import InvalidOption
from tokenizer_core.stages import Model, Normalizer, Pattern, Pretokenizer

SURROGATE = "a\ud800"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("id", value) for value in (None, True, 1.0, "1", SURROGATE)),
        *(("content", value) for value in (None, 5, b"text", SURROGATE)),
        *((flag, value) for flag in ("special", "lstrip") for value in (None, 1, "true")),
    ],
)
def test_an_added_token_is_checked_when_it_is_made(field: str, value: Any) -> None:
    with pytest.raises(InvalidOption) as caught:
        AddedToken(**({"id": 300, "content": "<a>"} | {field: value}))
    assert caught.value.place == {"field": field}
    assert AddedToken(id=np.int64(300), content="<a>") == AddedToken(id=300, content="<a>")  # type: ignore[arg-type]


WORD = Pattern("regex", "a+")
PIPELINE: dict[str, tuple[str, Callable[[Any], object]]] = {
    "kind": ("kind", lambda value: Pattern(value, "a+")),
    "text": ("text", lambda value: Pattern("regex", value)),
    "type": ("type", Normalizer),
    "replaced": ("pattern", lambda value: Normalizer("replace", pattern=value, content="b")),
    "content": ("content", lambda value: Normalizer("replace", pattern=WORD, content=value)),
    "prefix": ("prefix", lambda value: Normalizer("prepend", prefix=value)),
    "left": ("left", lambda value: Normalizer("strip", left=value, right=True)),
    "right": ("right", lambda value: Normalizer("strip", left=True, right=value)),
    "split": ("pattern", lambda value: Pretokenizer("split", pattern=value)),
    "behavior": ("behavior", lambda value: Pretokenizer("split", pattern=WORD, behavior=value)),
    "invert": ("invert", lambda value: Pretokenizer("split", pattern=WORD, invert=value)),
    "individual": ("individual", lambda value: Pretokenizer("digits", individual=value)),
    **{
        field: (field, lambda value, field=field: PipelineConfig(**{field: value}))
        for field in (
            *("normalizer", "pretokenizer", "added_tokens", "prefix_ids", "suffix_ids"),
            *("prefix_space", "ignore_merges"),
        )
    },
    **{
        f"{field}[0]": (f"{field}[0]", lambda value, field=field: PipelineConfig(**{field: [value]}))
        for field in ("normalizer", "pretokenizer", "added_tokens", "prefix_ids", "suffix_ids")
    },
}


@pytest.mark.parametrize("made", PIPELINE)
@pytest.mark.parametrize("value", [None, 1.5, SURROGATE, b"a", {}, object], ids=repr)
def test_a_pipeline_is_checked_when_it_is_made(made: str, value: Any) -> None:
    field, make = PIPELINE[made]
    with pytest.raises(InvalidOption, match=f"^{re.escape(field)} is ") as caught:
        make(value)
    assert caught.value.place == {"field": field}


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"type": "symbols", "unk": 0}, "unit"),
        ({"type": "unigram", "unk": 0, "scores": []}, "scores"),
        ({"type": "unigram", "unk": 0, "reserved": [1, 2, "3", 4, "3"]}, "reserved[2]"),
        ({"type": "unigram", "unk": 0, "reserved": "3", "user_defined": "3"}, "reserved"),
        ({"type": "unigram", "unk": 0, "reserved": [SURROGATE]}, "reserved[0]"),
        ({"type": "symbols", "unk": -1, "unit": "char"}, "unk"),
        ({"type": "symbols", "unk": 0, "unit": "byte"}, "unit"),
        ({"type": "nfc"}, "type"),
    ],
)
def test_a_model_is_refused_at_its_field(fields: Any, place: str) -> None:
    with pytest.raises(InvalidOption, match=f"^{re.escape(place)} is ") as caught:
        Model(**fields)
    assert caught.value.place == {"field": place}


def test_a_stage_has_all_its_fields_and_is_one_value() -> None:
    stage = Pretokenizer("split", pattern=WORD)
    assert stage.to_dict() == {"type": "split", "pattern": {"regex": "a+"}, "behavior": "isolated", "invert": False}
    assert (stage.pattern, stage.behavior, stage.invert) == (WORD, "isolated", False)
    same = pickle.loads(pickle.dumps(stage))
    assert same == stage == Pretokenizer(**stage.to_dict())
    assert hash(same) == hash(stage)
    assert repr(stage) == f"Pretokenizer('split', pattern={WORD!r}, behavior='isolated', invert=False)"
    with pytest.raises(AttributeError):
        stage.content  # noqa: B018
    assert Normalizer("strip_accents") != Pretokenizer("bert")


def test_a_pipeline_of_lists_and_of_ids_of_numpy_is_that_of_tuples_and_integers() -> None:
    token = AddedToken(id=300, content="<a>")
    given: Any = {"normalizer": [Normalizer("nfc")], "added_tokens": [token], "prefix_ids": [np.int64(300)]}
    config = PipelineConfig(normalizer=(Normalizer("nfc"),), added_tokens=(token,), prefix_ids=(300,))
    assert PipelineConfig(**given) == config
    assert hash(PipelineConfig(**given)) == hash(config)
    assert PipelineConfig(**given).to_json() == config.to_json()
