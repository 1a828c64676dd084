"""Chains of decoders against Hugging Face's own, whole and as streams that are cut anywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, decoders
from tokenizers import Tokenizer as Peer
from tokenizers.models import BPE

from tests.core.formats.small import document, write
from tests.support import families
from tokenizer_core import Tokenizer
from tokenizer_core.errors import Unsupported
from tokenizer_core.reference.decoders import decode

ENTRIES = (
    "<unk>", *(f"<0x{byte:02X}>" for byte in b"\x00\n A\xc3\xa9\xe2\x96\x81\xf0\x9f\x91\x8d\xff"),
    "<0x+A>", "<0x4g>", "<0x041>", "▁", "▁▁", "▁the", "a", "ab", " ", "  ", " x ", "é", "日本", "</w>", "ab</w>",
    "</w></w>", "b<", "/w>", "Ġ", "Ã", "©", "Ã©", "Ġab", "👍", "##a", "-", "<s>",
)  # fmt: skip


def chain(*stages: Any) -> Any:
    return decoders.Sequence(list(stages))


CHAINS = {
    "none": None,
    "nothing": chain(),
    "llama": chain(
        decoders.Replace("▁", " "),
        decoders.ByteFallback(),
        decoders.Fuse(),
        decoders.Strip(content=" ", left=1, right=0),
    ),
    "gemma": chain(decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()),
    "late": chain(decoders.ByteFallback(), decoders.Fuse(), decoders.Replace("▁", " ")),
    "ctc": decoders.CTC(pad_token="<s>", word_delimiter_token="▁", cleanup=True),
    "ctc-as-it-is": decoders.CTC(pad_token="a", word_delimiter_token="b", cleanup=False),
    "ctc-of-nothing": decoders.CTC(pad_token="", word_delimiter_token="", cleanup=True),
    "word-piece": chain(decoders.ByteFallback(), decoders.WordPiece("##", cleanup=True)),
    "fallback": decoders.ByteFallback(),
    "fuse": decoders.Fuse(),
    "fused-fallback": chain(decoders.Fuse(), decoders.ByteFallback()),
    "metaspace": decoders.Metaspace(),
    "metaspace-never": decoders.Metaspace(prepend_scheme="never"),
    "fallback-metaspace": chain(decoders.ByteFallback(), decoders.Metaspace(prepend_scheme="first")),
    "fused-metaspace": chain(decoders.Fuse(), decoders.Metaspace()),
    "bpe": decoders.BPEDecoder("</w>"),
    "fused-bpe": chain(decoders.Fuse(), decoders.BPEDecoder("</w>")),
    "clip": chain(decoders.ByteLevel(), decoders.BPEDecoder("</w>")),
    "bpe-level": chain(decoders.BPEDecoder("</w>"), decoders.ByteLevel()),
    "level": decoders.ByteLevel(),
    "replace": decoders.Replace("b<", "--"),
    "fused-replace": chain(decoders.Fuse(), decoders.Replace("</w>", "")),
    "regex": decoders.Replace(Regex("[ab]+|^ "), "!"),
    "bpe-regex": chain(decoders.BPEDecoder("</w>"), decoders.Replace(Regex("a$| "), "!")),
    "strip-right": decoders.Strip(content=" ", left=0, right=1),
    "fused-strip": chain(decoders.Fuse(), decoders.Strip(content="▁", left=2, right=0)),
}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Peer, Tokenizer]]:
    found = {}
    for name, decoder in CHAINS.items():
        peer = Peer(BPE({entry: id for id, entry in enumerate(ENTRIES)}, [], unk_token="<unk>"))
        peer.add_special_tokens(["<s>"])
        if decoder is not None:
            peer.decoder = decoder
        found[name] = (peer, families.opened(peer, tmp_path_factory.mktemp("decoder")))
    return found


IDS = st.lists(st.integers(0, len(ENTRIES) - 1), max_size=24)
BYTES = st.lists(st.sampled_from([*range(1, 15), 15, 21, 40]), max_size=24)


@pytest.mark.parametrize("name", CHAINS)
@settings(max_examples=120)
@given(ids=IDS | BYTES, cuts=st.lists(st.integers(0, 4), min_size=1, max_size=8), skip=st.booleans())
def test_the_text_is_that_of_hugging_face_also_in_a_stream(
    both: dict[str, tuple[Peer, Tokenizer]], name: str, ids: list[int], cuts: list[int], skip: bool
) -> None:
    peer, tokenizer = both[name]
    if name == "strip-right":
        # Hugging Face panics on a text that has nothing to strip from.
        ids = [id for id in ids if not (skip and ENTRIES[id] == "<s>")]
    truth = peer.decode(ids, skip_special_tokens=skip)
    assert tokenizer.decode(ids, skip_special_tokens=skip) == truth
    tokens = [ENTRIES[id] for id in ids if not (skip and ENTRIES[id] == "<s>")]
    assert decode(json.loads(tokenizer.config.to_json()).get("decoder", []), tokens) == truth
    stream, text, at = tokenizer.stream_decoder(skip_special_tokens=skip), "", 0
    for turn in range(len(ids) + 1):
        text += stream.push(ids[at : at + cuts[turn % len(cuts)]])
        at += cuts[turn % len(cuts)]
    assert text + stream.push(ids[at:]) + stream.finish() == truth


def test_a_stream_has_text_as_soon_as_it_is_certain(both: dict[str, tuple[Peer, Tokenizer]]) -> None:
    _, tokenizer = both["llama"]
    ids = {entry: id for id, entry in enumerate(ENTRIES)}
    stream = tokenizer.stream_decoder()
    pushed = [
        stream.push([ids[entry]]) for entry in ("▁the", "ab", "<0xC3>", "<0xA9>", "▁the", "<0xFF>", "<0x41>", "a")
    ]
    assert pushed == ["the", "ab", "", "", "é the", "\ufffd", "\ufffd", "a"]
    assert stream.finish() == ""


def test_an_unknown_id_leaves_the_stream_as_it_was(both: dict[str, tuple[Peer, Tokenizer]]) -> None:
    _, tokenizer = both["llama"]
    stream = tokenizer.stream_decoder()
    for _ in range(2):
        with pytest.raises(Exception, match="no token has the id"):
            stream.push([18, 9999])
    assert stream.push([18]) == tokenizer.decode([18])


def test_a_hundred_stages_are_refused(tmp_path: Path) -> None:
    peer = Peer(BPE({"a": 0}, []))
    peer.decoder = chain(*[decoders.Fuse()] * 100)
    with pytest.raises(Exception, match="at most 64 stages"):
        families.opened(peer, tmp_path)


def test_an_expression_over_the_whole_text_is_refused(tmp_path: Path) -> None:
    peer = Peer(BPE({"a": 0}, []))
    peer.decoder = chain(decoders.Fuse(), decoders.Replace(Regex("a+"), ""))
    with pytest.raises(Exception, match="only a literal"):
        families.opened(peer, tmp_path)


def test_a_byte_level_model_has_no_other_decoder(tmp_path: Path) -> None:
    with pytest.raises(Unsupported):
        Tokenizer.load(write(tmp_path, document(decoder={"type": "Fuse"})))
