"""Models that are not byte-level BPE, against Hugging Face's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken
from tokenizers import Tokenizer as Peer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Digits, Sequence, WhitespaceSplit

from tests.support.families import opened
from tokenizer_core import Tokenizer
from tokenizer_core.errors import UncoveredText

VOCAB = {"[UNK]": 0, "play": 1, "été": 2, "日本": 3, "7": 4, "x": 5, "👍": 6, "<s>": 7}


def peer(*, unk: str = "[UNK]") -> Peer:
    made = Peer(WordLevel(VOCAB, unk_token=unk))
    made.normalizer = Lowercase()
    made.pre_tokenizer = Sequence([WhitespaceSplit(), Digits(individual_digits=True)])
    made.add_special_tokens([AddedToken("[UNK]", normalized=False), AddedToken("<s>", normalized=False)])
    return made


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Peer, Tokenizer]:
    made = peer()
    return made, opened(made, tmp_path_factory.mktemp("words"))


WORDS = st.lists(st.sampled_from([*VOCAB, "PLAY", "77x", "other", " ", "\u3000", "\n", "\x85", "", "x7"]), max_size=20)


@given(words=WORDS)
def test_ids_spans_and_text_are_those_of_hugging_face(both: tuple[Peer, Tokenizer], words: list[str]) -> None:
    made, tokenizer = both
    text = " ".join(words)
    truth = made.encode(text)
    found = tokenizer.offsets(text, special_tokens="parse")
    assert tokenizer.encode(text, special_tokens="parse").tolist() == truth.ids == found.ids.tolist()
    assert [tuple(span) for span in found.spans.tolist()] == truth.offsets
    assert tokenizer.count(text, special_tokens="parse") == len(truth.ids)
    assert tokenizer.decode(truth.ids, skip_special_tokens=False) == made.decode(truth.ids, skip_special_tokens=False)
    assert tokenizer.decode(truth.ids, skip_special_tokens=True) == made.decode(truth.ids, skip_special_tokens=True)


def test_a_piece_that_no_token_stands_for_is_refused_with_its_place(tmp_path: Path) -> None:
    tokenizer = opened(peer(unk="none"), tmp_path)
    with pytest.raises(UncoveredText) as caught:
        tokenizer.encode("play  Other")
    assert caught.value.place == {"span": [6, 11], "unit": "char"}


def test_an_artifact_says_that_text_is_lost_and_comes_back_the_same(
    both: tuple[Peer, Tokenizer], tmp_path: Path
) -> None:
    made, tokenizer = both
    tokenizer.save(tmp_path / "words")
    assert json.loads((tmp_path / "words" / "manifest.json").read_text())["lossless"] is False
    again = Tokenizer.load(tmp_path / "words")
    assert again.hash == tokenizer.hash
    written = Peer.from_file(str(tmp_path / "words" / "tokenizer.json"))
    text = "<s> Play 日本 7x other"
    assert written.encode(text).ids == made.encode(text).ids == again.encode(text, special_tokens="parse").tolist()
