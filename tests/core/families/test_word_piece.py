"""WordPiece with BERT's stages: the golden cases, the corpora, and random text against Hugging Face's own."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Peer
from tokenizers.decoders import WordPiece as PeerDecoder
from tokenizers.models import WordPiece as PeerModel
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from tests.core.encoding.test_hostile_sizes import MILLION
from tests.core.encoding.test_hostile_sizes import SHAPES as COMMON
from tests.support import families
from tests.support.data import CORPORA, needs_data
from tests.support.texts import texts
from tokenizer_core import Tokenizer, check
from tokenizer_core.checking.report import Status
from tokenizer_core.reference import bert
from tokenizer_core.reference.tokenizer import ReferenceTokenizer

NAMES = ("hf-wordpiece-uncased", "hf-wordpiece-cased")
LETTERS = "abcdeghinorstuéüßñ"
VOCAB = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *(f"##{letter}" for letter in LETTERS),
    "the", "##ing", "##tion", "un", "under", "##stand", "日", "本", "语", ".", ",", "'", "[", "]", "##'", "İ", "i", "и",
    "ии", "##и", "##", "x", "##x", "xx", "1", "##1", "\u1112\u1161\u11ab", "\u1112", "##\u1161", "##\u11ab",
]  # fmt: skip


SHAPES = COMMON | {
    "reordered marks": lambda size: "a" + "\u302e\u1b44" * (size // 2),
    "dropped marks between": lambda size: "\u302e\u0e31" * (size // 2),
    "syllables": lambda size: "한" * size,
    "one word after another": lambda size: "understanding " * (size // 14),
    "words of 100": lambda size: ("x" * 100 + " ") * (size // 101),
}


def made(**flags: bool | None) -> Peer:
    """Make a small tokenizer in the test."""
    one = Peer(PeerModel({entry: id for id, entry in enumerate(VOCAB)}, unk_token="[UNK]"))
    settings: dict[str, bool | None] = {
        "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True,
    } | flags  # fmt: skip
    one.normalizer = BertNormalizer(**settings)  # type: ignore[arg-type]
    one.pre_tokenizer = BertPreTokenizer()
    one.decoder = PeerDecoder()
    one.add_special_tokens(VOCAB[:5])
    return one


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Peer, Tokenizer]:
    peer = made()
    return peer, families.opened(peer, tmp_path_factory.mktemp("bert"))


WORDS = st.lists(
    st.sampled_from([*VOCAB, *"ÀÉİßК ЙЯ", "Thing", "UNDERSTANDING", "e\u0301", "\u1112\u1161\u11ab", "한", "x" * 101])
    | st.sampled_from(
        [
            " ",
            "\t",
            "\u3000",
            "\u0085",
            "\u200b",
            "\ufffd",
            "\x00",
            "--",
            "...",
            "\u302e\u1b44",
            "\u037e",
            "\u0344",
            "\u1fef",
            "\U0001d160",
        ]
    )
    | st.text(max_size=6),
    max_size=20,
)


@needs_data
@pytest.mark.parametrize("name", NAMES)
def test_golden_cases(name: str) -> None:
    tokenizer = families.ours(name)
    for case in families.cases(name):
        text = case["text"]
        found = tokenizer.offsets(text, special_tokens="parse")
        assert found.ids.tolist() == case["ids"], text
        assert tokenizer.encode(text, special_tokens="parse").tolist() == case["ids"]
        assert (
            tokenizer.encode(text, special_tokens="parse", add_special_tokens=True).tolist() == case["ids_with_special"]
        )
        assert tokenizer.count(text, special_tokens="parse") == len(case["ids"])
        assert [tokenizer.token_bytes(id).decode() for id in case["ids"]] == case["tokens"]
        # Both are without special tokens, of which the unknown one is one.
        assert tokenizer.decode(case["ids"], skip_special_tokens=True) == case["decoded"]
        assert tokenizer.decode(case["ids_with_special"], skip_special_tokens=True) == case["decoded_skip"]
        assert tokenizer.decode(case["ids"]) == families.peer(name).decode(case["ids"], skip_special_tokens=False)
        stream = tokenizer.stream_decoder(skip_special_tokens=True)
        assert "".join(stream.push([id]) for id in case["ids"]) + stream.finish() == case["decoded"]


@needs_data
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("language", CORPORA)
def test_ids_of_a_corpus_whole_and_in_lines(name: str, language: str) -> None:
    families.check_corpus(name, language)


@given(words=WORDS, joined=st.sampled_from(["", " "]))
def test_ids_and_text_are_those_of_hugging_face(both: tuple[Peer, Tokenizer], words: list[str], joined: str) -> None:
    peer, tokenizer = both
    text = joined.join(words)
    truth = peer.encode(text, add_special_tokens=False).ids
    assert tokenizer.encode(text, special_tokens="parse").tolist() == truth
    assert tokenizer.offsets(text, special_tokens="parse").ids.tolist() == truth
    assert tokenizer.count(text, special_tokens="parse") == len(truth)
    for skip in (False, True):
        assert tokenizer.decode(truth, skip_special_tokens=skip) == peer.decode(truth, skip_special_tokens=skip)


@given(words=WORDS)
def test_ids_pieces_and_spans_are_those_of_the_reference(both: tuple[Peer, Tokenizer], words: list[str]) -> None:
    _, tokenizer = both
    reference = ReferenceTokenizer.of(tokenizer)
    text = " ".join(words)
    assert tokenizer.pieces(text) == reference.pieces(text)
    assert tokenizer.encode(text, special_tokens="parse").tolist() == reference.encode(text, special_tokens="parse")
    for unit in ("byte", "char", "utf16"):
        spans = tokenizer.offsets(text, special_tokens="parse", unit=unit).spans.tolist()
        assert list(map(tuple, spans)) == reference.offsets(text, unit, special_tokens="parse")


@given(text=texts | st.text(), flags=st.tuples(st.booleans(), st.booleans(), st.booleans(), st.booleans()))
def test_the_normalizer_is_that_of_hugging_face(text: str, flags: tuple[bool, bool, bool, bool]) -> None:
    clean, chinese, strip, lower = flags
    peer = BertNormalizer(clean_text=clean, handle_chinese_chars=chinese, strip_accents=strip, lowercase=lower)
    mine = bert.normalize(text, clean_text=clean, handle_chinese_chars=chinese, strip_accents=strip, lowercase=lower)
    assert mine == peer.normalize_str(text)


def test_an_artifact_comes_back_the_same_and_says_that_text_is_lost(
    both: tuple[Peer, Tokenizer], tmp_path: Path
) -> None:
    peer, tokenizer = both
    tokenizer.save(tmp_path / "bert")
    assert json.loads((tmp_path / "bert" / "manifest.json").read_text())["lossless"] is False
    again = Tokenizer.open(tmp_path / "bert")
    assert again.hash == tokenizer.hash
    written = Peer.from_file(str(tmp_path / "bert" / "tokenizer.json"))
    text = "[CLS] Understanding, the ÜBER-Xé日本. don't"
    ids = peer.encode(text, add_special_tokens=False).ids
    assert written.encode(text, add_special_tokens=False).ids == ids
    assert written.decode(ids) == peer.decode(ids) == again.decode(ids, skip_special_tokens=True)


@pytest.mark.nightly
@pytest.mark.parametrize("shape", SHAPES)
def test_a_million_characters_take_seconds_and_have_the_right_ids(both: tuple[Peer, Tokenizer], shape: str) -> None:
    peer, tokenizer = both
    text = SHAPES[shape](100_000)
    assert tokenizer.encode(text, special_tokens="parse").tolist() == peer.encode(text, add_special_tokens=False).ids
    text, before = SHAPES[shape](MILLION), time.process_time()
    found = tokenizer.offsets(text, special_tokens="parse")
    assert found.ids.tolist() == tokenizer.encode(text, special_tokens="parse").tolist()
    assert tokenizer.count(text, special_tokens="parse") == len(found.ids)
    assert isinstance(tokenizer.decode(found.ids), str)
    assert time.process_time() - before < 10


def test_the_audit_promises_only_what_is_true(both: tuple[Peer, Tokenizer]) -> None:
    report = check(both[1])
    assert report.ok, report.failures
    assert {point.name for point in report.points if point.status is Status.PASSED} == {
        "atomic specials",
        "fertility",
        "reserved literals",
        "offsets",
        "throughput",
        "determinism",
    }
