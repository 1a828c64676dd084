"""BPE whose text is in the byte alphabet before the last stage, and bytes that are added tokens, as Hugging Face's."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex
from tokenizers import Tokenizer as Peer
from tokenizers.decoders import ByteFallback, ByteLevel, Fuse
from tokenizers.decoders import Sequence as Decoders
from tokenizers.models import BPE, Unigram
from tokenizers.normalizers import NFC
from tokenizers.normalizers import ByteLevel as Rewrite
from tokenizers.normalizers import Sequence as Normalizers
from tokenizers.pre_tokenizers import ByteLevel as Alphabet
from tokenizers.pre_tokenizers import Digits, Metaspace, Punctuation, Split
from tokenizers.pre_tokenizers import Sequence as Pretokenizers

from tests.support import families
from tests.support.texts import texts
from tokenizer_core import Tokenizer

MERGES = [("a", "b"), ("Ġ", "a"), ("1", "2"), ("12", "3"), ("Ã", "©"), ("Â", "²"), ("²", "²"), ("ab", "ab")]


def alphabet_bpe() -> Peer:
    entries = [*Alphabet.alphabet(), *(left + right for left, right in MERGES)]
    peer = Peer(BPE({entry: id for id, entry in enumerate(sorted(entries, key=len))}, MERGES))
    peer.decoder = ByteLevel()
    return peer


def falcon() -> Peer:
    peer = alphabet_bpe()
    digits = [Digits(individual_digits=False), Split(Regex("[0-9][0-9][0-9]"), "isolated")]
    peer.pre_tokenizer = Pretokenizers([Punctuation("contiguous"), Alphabet(add_prefix_space=False), *digits])
    return peer


def normalized() -> Peer:
    peer = alphabet_bpe()
    peer.normalizer = Normalizers([NFC(), Rewrite()])
    peer.pre_tokenizer = Split(Regex("Ġ[a-z]+"), "isolated")
    peer.add_tokens([AddedToken("<x>", normalized=False)])
    return peer


def byte_tokens() -> list[str]:
    return [f"<0x{byte:02X}>" for byte in range(256)]


def listed_bytes() -> Peer:
    """A BPE with byte fallback whose bytes are added tokens, as a trainer leaves what it is given as special tokens."""
    entries = ["<unk>", *byte_tokens(), "▁", "a", "b", "▁a", "ab"]
    model = BPE({entry: id for id, entry in enumerate(entries)}, [("▁", "a"), ("a", "b")], unk_token="<unk>")
    model.byte_fallback = model.fuse_unk = True
    return with_bytes(Peer(model))


def listed_bytes_of_a_unigram() -> Peer:
    entries = [("<unk>", 0.0), *((entry, 0.0) for entry in byte_tokens()), ("▁", -2.0), ("a", -3.0), ("▁a", -4.0)]
    return with_bytes(Peer(Unigram(entries, 0, True)))


def with_bytes(peer: Peer) -> Peer:
    peer.pre_tokenizer = Metaspace(prepend_scheme="first", split=False)
    peer.decoder = Decoders([ByteFallback(), Fuse()])
    peer.add_special_tokens(["<unk>", *byte_tokens()])
    return peer


SHAPES: list[Callable[[], Peer]] = [falcon, normalized, listed_bytes, listed_bytes_of_a_unigram]
WORDS = st.lists(st.sampled_from(["ab", "abab", "é", "e\u0301", " ", "\n", "²", "12", "1234567", "日", "!?", "<x>"]))


@pytest.fixture(scope="module", params=SHAPES, ids=lambda shape: shape.__name__)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Peer, Tokenizer]:
    peer = request.param()
    return peer, families.opened(peer, tmp_path_factory.mktemp("alphabet"))


@given(text=WORDS.map("".join) | texts)
@example(text="a 1234² ½²² x٣٤٥")
@example(text="日 <0x41>é")
def test_ids_and_text_are_hugging_face_s(pair: tuple[Peer, Tokenizer], text: str) -> None:
    peer, tokenizer = pair
    ids = peer.encode(text).ids
    assert tokenizer.encode(text, special_tokens="parse").tolist() == ids
    assert tokenizer.count(text, special_tokens="parse") == len(ids)
    assert tokenizer.offsets(text, special_tokens="parse").ids.tolist() == ids
    assert tokenizer.decode(ids, skip_special_tokens=True) == peer.decode(ids, skip_special_tokens=True)


def test_an_artifact_keeps_them(pair: tuple[Peer, Tokenizer], tmp_path) -> None:
    _, tokenizer = pair
    tokenizer.save(tmp_path / "artifact")
    assert Tokenizer.open(tmp_path / "artifact").hash == tokenizer.hash
