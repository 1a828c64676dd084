"""BPE over characters (Llama 2, Gemma, CLIP): golden cases, corpora, and random text against Hugging Face's own."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken
from tokenizers import Tokenizer as Peer
from tokenizers.models import BPE
from tokenizers.normalizers import Lowercase, Prepend, Replace
from tokenizers.normalizers import Sequence as Normalizers
from tokenizers.pre_tokenizers import Digits, Metaspace, PreTokenizer, Split, WhitespaceSplit
from tokenizers.pre_tokenizers import Sequence as Pretokenizers

from tests.support import families
from tests.support.data import CORPORA, needs_data
from tests.support.texts import texts
from tokenizer_core import Tokenizer
from tokenizer_core.errors import UncoveredText
from tokenizer_core.reference.char_bpe import char_bpe
from tokenizer_core.reference.tokenizer import tokens_of

NAMES = ("hf-bpe-llama2", "hf-bpe-gemma", "hf-bpe-clip", "hf-bytelevel-deepseek", "hf-bytelevel-roberta-no-alphabet")
LETTERS = ("a", "b", "é", "日", "本", "▁", " ", "\n", "1", "x", "'")
MERGES = (
    ("▁", "▁"), ("▁", "a"), ("a", "b"), ("▁a", "b"), ("▁▁", "▁▁"), ("b", "b"), ("▁", "ab"), ("日", "本"), ("é", "a"),
    ("a", "a"), ("aa", "a"), ("b", "▁"), ("本", "▁"), ("1", "1"), ("▁", "x"), ("a", "é"), ("\n", "\n"), (" ", "a"),
)  # fmt: skip


@needs_data
@pytest.mark.parametrize("name", NAMES)
def test_golden_cases(name: str) -> None:
    tokenizer = families.ours(name)
    entries = set(tokens_of(tokenizer).values())
    for case in families.cases(name):
        text = case["text"]
        if name.endswith("no-alphabet") and not all(bytes([byte]) in entries for byte in text.encode()):
            # Hugging Face drops what it has no token for.
            with pytest.raises(UncoveredText):
                tokenizer.encode(text, special_tokens="parse")
            continue
        found = tokenizer.offsets(text, special_tokens="parse")
        assert found.ids.tolist() == case["ids"], text
        assert tokenizer.encode(text, special_tokens="parse").tolist() == case["ids"]
        framed = tokenizer.encode(text, special_tokens="parse", add_special_tokens=True)
        assert framed.tolist() == case["ids_with_special"]
        assert tokenizer.count(text, special_tokens="parse") == len(case["ids"])
        assert tokenizer.decode(case["ids"], skip_special_tokens=True) == case["decoded"]
        assert tokenizer.decode(case["ids_with_special"], skip_special_tokens=True) == case["decoded_skip"]
        assert tokenizer.decode(case["ids"]) == families.peer(name).decode(case["ids"], skip_special_tokens=False)
        if not name.startswith("hf-bytelevel"):
            assert [tokenizer.token_bytes(id).decode() for id in case["ids"]] == case["tokens"]
        stream = tokenizer.stream_decoder(skip_special_tokens=True)
        assert "".join(stream.push([id]) for id in case["ids"]) + stream.finish() == case["decoded"]


@pytest.mark.nightly
@needs_data
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("language", CORPORA)
def test_ids_of_a_corpus_whole_and_in_lines(name: str, language: str) -> None:
    families.check_corpus(name, language)


def made(*, bytes: bool = True, unk: bool = True, **settings: Any) -> Peer:
    """Make a small BPE over ``LETTERS``."""
    entries = ["<unk>", "<s>", *(f"<0x{byte:02X}>" for byte in range(256 * bytes)), *LETTERS]
    prefix, suffix = (settings.get(key) or "" for key in ("continuing_subword_prefix", "end_of_word_suffix"))
    entries += [f"{prefix}{letter}" for letter in LETTERS if prefix]
    entries += [f"{letter}{suffix}" for letter in LETTERS if suffix]
    merges = [(left, prefix + right) for left, right in MERGES if not prefix or len(left + right) == 2]
    if suffix:
        merges += [(left, right + suffix) for left, right in MERGES if len(right) == 1]
    entries += [left + right.removeprefix(prefix) for left, right in merges]
    vocab = {entry: id for id, entry in enumerate(dict.fromkeys(entries))}
    made = Peer(BPE(vocab, merges, unk_token="<unk>" if unk else None, **settings))
    made.add_special_tokens([AddedToken("<unk>", normalized=False), AddedToken("<s>", normalized=False)])
    return made


def metaspace(scheme: str, *, split: bool = True) -> Metaspace:
    return Metaspace(prepend_scheme=scheme, split=split)  # type: ignore[arg-type]


LEGACY = Normalizers([Prepend("▁"), Replace(" ", "▁")])
PRETOKENIZERS: dict[str, tuple[Any, PreTokenizer | None]] = {
    "llama": (LEGACY, None),
    "gemma": (Replace(" ", "▁"), Split(" ", "merged_with_previous")),
    "gemma-digits": (Replace(" ", "▁"), Digits(individual_digits=True)),
    "prepend-late": (Normalizers([Replace(" ", "▁"), Prepend("▁")]), None),
    "always": (None, metaspace("always")),
    "first": (None, metaspace("first")),
    "never": (None, metaspace("never")),
    "whole": (None, metaspace("first", split=False)),
    "lower": (Lowercase(), metaspace("always", split=False)),
    "words": (None, Pretokenizers([WhitespaceSplit(), metaspace("always")])),
    "first-word": (None, Pretokenizers([WhitespaceSplit(), metaspace("first")])),
    "digits": (None, Pretokenizers([metaspace("always"), Digits(individual_digits=True)])),
    "escaped-twice": (Replace(" ", "▁"), metaspace("first")),
    "plain": (None, None),
}
MODELS: dict[str, dict[str, Any]] = {
    "bytes": {"byte_fallback": True, "fuse_unk": True},
    "unk": {"bytes": False},
    "fused": {"bytes": False, "fuse_unk": True},
    "suffix": {"bytes": False, "end_of_word_suffix": "</w>"},
    "prefix": {"bytes": False, "continuing_subword_prefix": "##"},
    "whole": {"byte_fallback": True, "ignore_merges": True},
}


def pair(place: Path, peer: Peer) -> tuple[Peer, Tokenizer]:
    return peer, families.opened(peer, place)


class Pairs(dict[tuple[str, str], tuple[Peer, Tokenizer]]):
    """Hugging Face's tokenizer and ours, by model and stages."""

    def __repr__(self) -> str:
        return "pairs"


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Pairs:
    found = Pairs()
    for model, options in MODELS.items():
        for stages, (normalizer, pretokenizer) in PRETOKENIZERS.items():
            peer = made(**options)
            if model != "whole":
                peer.add_tokens([AddedToken("ab", normalized=True), AddedToken("日<", normalized=False, rstrip=True)])
            if normalizer is not None:
                peer.normalizer = normalizer
            if pretokenizer is not None:
                peer.pre_tokenizer = pretokenizer
            found[model, stages] = pair(tmp_path_factory.mktemp("bpe"), peer)
    return found


WORDS = st.lists(st.sampled_from([*LETTERS, "ab", "<s>", "日<", "A", "▁a", "  ", "語", "👍", "<0x41>"]), max_size=30)
SOME = WORDS.map("".join) | texts


@pytest.mark.parametrize("stages", PRETOKENIZERS)
@pytest.mark.parametrize("model", MODELS)
@settings(max_examples=25)
@given(text=SOME)
@example(text="<0x41>")
def test_ids_are_those_of_hugging_face(pairs: Pairs, model: str, stages: str, text: str) -> None:
    peer, tokenizer = pairs[model, stages]
    truth = peer.encode(text, add_special_tokens=False).ids
    assert tokenizer.encode(text, special_tokens="parse").tolist() == truth
    found = tokenizer.offsets(text, special_tokens="parse", unit="byte")
    assert found.ids.tolist() == truth
    assert tokenizer.count(text, special_tokens="parse") == len(truth)
    ends = [end for _, end in found.spans.tolist()]
    assert ends == sorted(ends)
    assert not ends or ends[-1] == len(text.encode()) or stages.endswith("word") or stages == "words"


@pytest.mark.parametrize("stages", ["llama", "words", "first", "plain"])
@pytest.mark.parametrize("model", MODELS)
@settings(max_examples=25)
@given(text=SOME)
def test_ids_are_those_of_the_reference(pairs: Pairs, model: str, stages: str, text: str) -> None:
    _, tokenizer = pairs[model, stages]
    entries = {entry: id for entry, id in tokenizer.parts.vocabulary.token_texts() if entry not in ("<unk>", "<s>")}
    ranks = {(left, right): (rank, id) for rank, (left, right, id) in enumerate(tokenizer.parts.vocabulary.merge_ids())}
    settings = json.loads(tokenizer.config.to_json())
    ids = []
    for piece in tokenizer.pieces(text):
        if settings["ignore_merges"] and piece in entries:
            ids.append(entries[piece])
        else:
            found = char_bpe(piece, entries, ranks, settings["model"])
            assert sum(length for _, length in found) == len(piece.encode())
            ids += [id for id, _ in found]
    assert tokenizer.encode(text, special_tokens="ordinary").tolist() == ids


@given(text=WORDS.map("".join))
def test_spans_are_those_of_the_text_that_each_token_stands_for(pairs: Pairs, text: str) -> None:
    for stages in ("llama", "gemma", "always", "plain"):
        _, tokenizer = pairs["bytes", stages]
        text = text.replace("▁", " ")
        found = tokenizer.offsets(text, special_tokens="ordinary", unit="char")
        whole = "".join(text[start:end] for start, end in found.spans.tolist() if start < end)
        # Bytes of one character all span it.
        assert len(whole) >= len(text)
        for id, (start, end) in zip(found.ids.tolist(), found.spans.tolist(), strict=True):
            entry = tokenizer.token_bytes(id).decode()
            if not entry.startswith("<0x"):
                assert entry.replace("▁", " ") in (text[start:end], " " + text[start:end])
            else:
                assert end == start + 1


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("stages", PRETOKENIZERS)
def test_what_is_written_gives_the_same_ids(pairs: Pairs, tmp_path: Path, model: str, stages: str) -> None:
    peer, tokenizer = pairs[model, stages]
    tokenizer.save(tmp_path / "saved")
    again = Tokenizer.open(tmp_path / "saved")
    assert again.hash == tokenizer.hash
    assert json.loads((tmp_path / "saved" / "manifest.json").read_text())["lossless"] is False
    written = Peer.from_file(str(tmp_path / "saved" / "tokenizer.json"))
    text = "ab  a▁b\n\n 日本é xy 11a <s>ab語 👍"
    ids = peer.encode(text, add_special_tokens=False).ids
    assert written.encode(text, add_special_tokens=False).ids == ids
    assert again.encode(text, special_tokens="parse").tolist() == ids
    assert (
        written.decode(ids, skip_special_tokens=False)
        == again.decode(ids)
        == peer.decode(ids, skip_special_tokens=False)
    )


def test_text_without_any_token_is_refused_with_its_place(tmp_path: Path) -> None:
    _, tokenizer = pair(tmp_path, made(bytes=False, unk=False))
    with pytest.raises(UncoveredText) as caught:
        tokenizer.encode("aab語b")
    assert caught.value.place == {"span": [3, 4], "unit": "char"}


@pytest.mark.nightly
@pytest.mark.parametrize("unit", ["a", "▁", " ", "日", "語", "\u0301", "ab ", "1"])
@pytest.mark.parametrize("stages", ["llama", "always", "gemma"])
def test_a_million_of_anything(pairs: Pairs, unit: str, stages: str) -> None:
    peer, tokenizer = pairs["bytes", stages]
    text = unit * 200_000
    assert tokenizer.encode(text).tolist() == peer.encode(text, add_special_tokens=False).ids
    ids = tokenizer.encode(unit * 1_000_000)
    assert tokenizer.count(unit * 1_000_000) == len(ids)
    assert list(chain.from_iterable(tokenizer.offsets(unit * 1_000, unit="char").spans.tolist()))
