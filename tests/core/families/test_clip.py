"""BPE over words in the byte alphabet (CLIP), against Hugging Face's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex
from tokenizers import Tokenizer as Peer
from tokenizers.decoders import BPEDecoder
from tokenizers.models import BPE
from tokenizers.normalizers import NFC, Lowercase, Replace
from tokenizers.normalizers import Sequence as Normalizers
from tokenizers.pre_tokenizers import ByteLevel, Split
from tokenizers.pre_tokenizers import Sequence as Pretokenizers

from tests.support import families
from tests.support.texts import texts
from tokenizer_core import Tokenizer


def clip() -> Peer:
    """A BPE over words in the byte alphabet."""
    alphabet = ByteLevel.alphabet()
    entries = ["<unk>", *alphabet, *(f"{letter}</w>" for letter in alphabet)]
    merges = [("a", "b"), ("a", "b</w>"), ("Ã", "©"), ("Ã", "©</w>"), ("ab", "ab</w>"), ("b", "b")]
    entries += [left + right for left, right in merges]
    peer = Peer(
        BPE({entry: id for id, entry in enumerate(entries)}, merges, unk_token="<unk>", end_of_word_suffix="</w>")
    )
    peer.normalizer = Normalizers([NFC(), Replace(Regex(r"\s+"), " "), Lowercase()])
    words = Split(Regex(r"'s|\p{L}+|\p{N}|[^\s\p{L}\p{N}]+"), "removed", invert=True)
    peer.pre_tokenizer = Pretokenizers([words, ByteLevel(add_prefix_space=False, use_regex=False)])
    peer.decoder = BPEDecoder("</w>")
    return peer


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> tuple[Peer, Tokenizer]:
    peer = clip()
    return peer, families.opened(peer, tmp_path_factory.mktemp("clip"))


@given(
    text=st.lists(st.sampled_from(["ab", "Abab", "é", "e\u0301", " ", "\n", "'s", "12", "日", "!"])).map("".join)
    | texts
)
def test_words_in_the_byte_alphabet(clips: tuple[Peer, Tokenizer], text: str) -> None:
    peer, tokenizer = clips
    truth = peer.encode(text, add_special_tokens=False).ids
    assert tokenizer.encode(text).tolist() == truth
    assert tokenizer.decode(truth) == peer.decode(truth, skip_special_tokens=False)


def test_an_artifact_gives_the_same_ids(clips: tuple[Peer, Tokenizer], tmp_path: Path) -> None:
    peer, tokenizer = clips
    tokenizer.save(tmp_path / "clip")
    again = Tokenizer.open(tmp_path / "clip")
    assert again.hash == tokenizer.hash
    written = Peer.from_file(str(tmp_path / "clip" / "tokenizer.json"))
    text = "Abab's é!! 12\n日"
    ids = peer.encode(text, add_special_tokens=False).ids
    assert written.encode(text, add_special_tokens=False).ids == again.encode(text).tolist() == ids
    assert written.decode(ids) == again.decode(ids) == peer.decode(ids)


@given(text=st.text("abé日 ", max_size=20))
def test_spans_are_those_of_the_words(clips: tuple[Peer, Tokenizer], text: str) -> None:
    _, tokenizer = clips
    found = tokenizer.offsets(text)
    for id, (start, end) in zip(found.ids.tolist(), found.spans.tolist(), strict=True):
        letters = tokenizer.token_bytes(id).decode().removesuffix("</w>")
        if letters.isascii() and letters != "<unk>":
            assert text[start:end] == letters
        else:
            assert end == start + 1
