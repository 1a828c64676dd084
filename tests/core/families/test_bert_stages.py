"""Stages that Hugging Face has for words: every code point, and random text, against its own ``tokenizers``."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex, normalizers, pre_tokenizers

from tests.support.texts import texts
from tests.support.vocabularies import from_parts
from tokenizer_core import Tokenizer
from tokenizer_core._kernel import Vocabulary
from tokenizer_core.reference import bert
from tokenizer_core.reference.normalize import normalize
from tokenizer_core.reference.pretokenize import pretokenize
from tokenizer_core.stages import Model, Normalizer, Pattern, Pretokenizer

BERT_FLAGS = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
FLAGS = tuple(product((True, False), repeat=len(BERT_FLAGS)))
MARKS = st.text(
    "a\u0301\u0323\u0334\u0345\u302e\u302f\u1b44\u0e31\u16ff\U0001d15e\U0001d165\U0001d16d\U0001e000é한\x00 中"
)
BEHAVIORS = ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous")


def build(**config: Any) -> Tokenizer:
    """Build a tokenizer of which only the pieces are looked at."""
    return from_parts(Vocabulary.from_texts([(0, "[UNK]")], [], []), model=Model("word_level", unk=0), **config)


def normalized(tokenizer: Tokenizer, text: str) -> str:
    return "".join(tokenizer.pieces(text))


def code_points() -> Iterator[str]:
    """Yield every code point between letters, some thousands in a text; of planes that are empty or private, a few."""
    for first in (*range(0, 0x40000, 4096), *range(0x40000, 0x110000, 65536)):
        codes = (code for code in range(first, first + 4096) if not 0xD800 <= code < 0xE000)
        yield "".join(f"a{chr(code)}b" for code in codes)


def flags_of(flags: tuple[bool, ...]) -> dict[str, bool]:
    return dict(zip(BERT_FLAGS, flags, strict=True))


@pytest.mark.parametrize("flags", FLAGS)
def test_bert_normalizes_every_code_point_as_hugging_face_does(flags: tuple[bool, ...]) -> None:
    tokenizer, peer = (
        build(normalizer=(Normalizer("bert", **flags_of(flags)),)),
        normalizers.BertNormalizer(**flags_of(flags)),
    )
    for text in code_points():
        assert normalized(tokenizer, text) == peer.normalize_str(text)


@pytest.mark.parametrize(
    ("stage", "peer"),
    [
        (Normalizer("lowercase"), normalizers.Lowercase()),
        (Normalizer("strip_accents"), normalizers.StripAccents()),
        (Normalizer("byte_level"), normalizers.ByteLevel()),
        (Normalizer("nfc"), normalizers.NFC()),
        (Normalizer("nfd"), normalizers.NFD()),
        (Normalizer("nfkc"), normalizers.NFKC()),
        (Normalizer("nfkd"), normalizers.NFKD()),
    ],
)
def test_every_code_point_is_rewritten_as_by_hugging_face(stage: Normalizer, peer: Any) -> None:
    tokenizer = build(normalizer=(stage,))
    for text in code_points():
        assert normalized(tokenizer, text) == peer.normalize_str(text)


def test_the_reference_knows_the_older_tables() -> None:
    for text in code_points():
        mine = bert.normalize(text, clean_text=True, handle_chinese_chars=True, strip_accents=True, lowercase=True)
        assert mine == normalizers.BertNormalizer().normalize_str(text)


@given(text=texts | MARKS, flags=st.sampled_from(FLAGS))
def test_bert_normalizes_text_as_hugging_face_and_the_reference_do(text: str, flags: tuple[bool, ...]) -> None:
    tokenizer = build(normalizer=(Normalizer("bert", **flags_of(flags)),))
    truth = normalizers.BertNormalizer(**flags_of(flags)).normalize_str(text)
    assert normalized(tokenizer, text) == truth == bert.normalize(text, **flags_of(flags))


NEW = "\u0897\u1ac1\u32ff\U000105c9\U000105d2\U00010eab\U0001e08f\U0001e030\U00011938\U00011935\U00011930"


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
@given(text=st.text(f"{NEW}aé한\u0301\u0323\u0307\u0308ﬁ"))
def test_forms_know_no_character_that_hugging_face_does_not_know(form: str, text: str) -> None:
    stage: Any = form.lower()
    truth = getattr(normalizers, form)().normalize_str(text)
    assert normalized(build(normalizer=(Normalizer(stage),)), text) == truth == normalize([{"type": stage}], text)


PEERS: dict[str, tuple[Any, Any]] = {
    "bert": (Pretokenizer("bert"), pre_tokenizers.BertPreTokenizer()),
    "whitespace": (Pretokenizer("whitespace"), pre_tokenizers.Whitespace()),
    "whitespace split": (Pretokenizer("whitespace_split"), pre_tokenizers.WhitespaceSplit()),
    "scripts": (Pretokenizer("unicode_scripts"), pre_tokenizers.UnicodeScripts()),
    "three": (Pretokenizer("fixed_length", length=3), pre_tokenizers.FixedLength(3)),
    "delimiter": (
        Pretokenizer("split", pattern=Pattern("string", "a"), behavior="removed"),
        pre_tokenizers.CharDelimiterSplit("a"),
    ),
    **{
        f"punctuation {name}": (Pretokenizer("punctuation", behavior=name), pre_tokenizers.Punctuation(name))
        for name in BEHAVIORS
    },
    **{
        f"split {name} {invert}": (
            Pretokenizer("split", pattern=Pattern("regex", "[b1]+|c?"), behavior=name, invert=invert),
            pre_tokenizers.Split(Regex("[b1]+|c?"), name, invert),
        )
        for name in BEHAVIORS
        for invert in (False, True)
    },
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", [name for name in PEERS if not name.startswith("split")])
def test_every_code_point_is_cut_as_by_hugging_face(name: str) -> None:
    stage, peer = PEERS[name]
    tokenizer = build(pretokenizer=(stage,))
    for text in code_points():
        assert tokenizer.pieces(text) == [piece for piece, _ in peer.pre_tokenize_str(text)]


def test_the_reference_knows_the_script_of_every_code_point() -> None:
    peer = pre_tokenizers.UnicodeScripts()
    for text in code_points():
        truth = [piece for piece, _ in peer.pre_tokenize_str(text)]
        assert pretokenize([{"type": "unicode_scripts"}], text, drops=True) == truth


@pytest.mark.parametrize("name", PEERS)
@given(text=texts | st.text("abc1 .-\u3000中あ"))
def test_text_is_cut_as_by_hugging_face(name: str, text: str) -> None:
    stage, peer = PEERS[name]
    pieces = build(pretokenizer=(stage,)).pieces(text)
    assert pieces == [piece for piece, _ in peer.pre_tokenize_str(text)]
    # The reference takes no notice of empty matches.
    if not name.startswith("split contiguous"):
        assert pieces == pretokenize([stage.to_dict()], text, drops=True)


@given(text=texts, names=st.lists(st.sampled_from([*PEERS]), min_size=2, max_size=3))
def test_stages_cut_what_others_have_left(text: str, names: list[str]) -> None:
    stages, peers = zip(*(PEERS[name] for name in names), strict=True)
    truth = pre_tokenizers.Sequence(list(peers)).pre_tokenize_str(text)
    assert build(pretokenizer=stages).pieces(text) == [piece for piece, _ in truth]
