"""The scores of a Unigram: read as Hugging Face reads them, to the last bit, and written to be read again."""

from __future__ import annotations

import json
import math
import struct

import pytest
import tokenizers
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.families import opened
from tokenizer_core import Tokenizer
from tokenizer_core._kernel import Vocabulary
from tokenizer_core.formats.hf_models import as_read, to_write

SCORES = st.one_of(
    *(st.just(0.0), st.floats(-50, -1e-200), st.floats(-20, -(2.0**-100), width=32)),
    st.floats(-20, -(2.0**-100), width=32).map(lambda score: score - 100),
)


def read_back(scores: list[float]) -> list[float]:
    entries = [[f"t{id}", score] for id, score in enumerate(scores)]
    document = {"model": {"type": "Unigram", "unk_id": 0, "vocab": entries}}
    return Vocabulary.from_tokenizer_json(json.dumps(document).encode())[0].scores()


@given(st.lists(SCORES, min_size=1))
@example([-3.6862804889678955])
def test_a_score_is_read_as_hugging_face_reads_it(scores):
    ours = read_back(scores)
    peer = tokenizers.models.Unigram([(f"t{id}", score) for id, score in enumerate(scores)], 0)
    written = json.loads(tokenizers.Tokenizer(peer).to_str())
    assert [score for _, score in written["model"]["vocab"]] == scores
    truth = json.loads(tokenizers.Tokenizer.from_str(json.dumps(written)).to_str())
    assert ours == [score for _, score in truth["model"]["vocab"]] == list(map(as_read, scores))


@given(st.lists(SCORES, min_size=1))
def test_what_was_read_is_written_so_that_it_is_read_again(scores):
    read = read_back(scores)
    assert read_back(list(map(to_write, read))) == read


def test_a_score_that_no_decimal_number_is_read_as_stays_itself():
    assert to_write(-3.6862804889678955) == -3.6862804889678955 != as_read(-3.6862804889678955)


def test_a_vocabulary_of_single_precision_is_saved_and_opened_again(tmp_path):
    singles = [struct.unpack("<f", struct.pack("<f", -3 - math.sqrt(number)))[0] for number in range(5000)]
    entries = [("<unk>", 0.0), *((chr(0x4E00 + number), score) for number, score in enumerate(singles))]
    peer = tokenizers.Tokenizer(tokenizers.models.Unigram(entries, 0))
    peer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    peer.add_special_tokens(["<mask>"])
    tokenizer = opened(peer, tmp_path)
    tokenizer.save(tmp_path / "artifact")
    assert Tokenizer.open(tmp_path / "artifact").hash == tokenizer.hash


@pytest.mark.parametrize("split", [True, False])
def test_the_last_entries_may_be_the_literals_of_added_tokens(tmp_path, split):
    entries = [("<unk>", 0.0), ("▁a", -1.0), ("b", -2.0), ("<mask>", 0.0), ("<x>", 0.0)]
    peer = tokenizers.Tokenizer(tokenizers.models.Unigram(entries, 0))
    peer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace(split=split)
    peer.add_special_tokens(["<mask>", "<x>"])
    tokenizer = opened(peer, tmp_path)
    text = "ab <mask> a<x>b a"
    assert tokenizer.encode(text, special_tokens="parse").tolist() == peer.encode(text).ids
