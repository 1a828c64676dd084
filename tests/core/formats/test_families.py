"""A ``tokenizer.json`` of a family that is not supported says which family it is."""

from __future__ import annotations

import pytest

from tests.support.data import needs_data, shared
from tokenizer_core import TokdError, Tokenizer

FAMILIES = {
    "spm-bpe-llama2": ("trainer_spec.model_type", "SentencePiece"),
}


@needs_data
@pytest.mark.parametrize("name", FAMILIES)
def test_the_refusal_names_the_family(name):
    field, family = FAMILIES[name]
    with pytest.raises(TokdError) as caught:
        Tokenizer.load(shared(f"families/{name}"))
    assert caught.value.code == "unsupported"
    assert family in caught.value.message
    if field:
        assert caught.value.place["field"] == field
