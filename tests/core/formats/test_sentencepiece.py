"""SentencePiece models: ids, text and spans are those of the library."""

from __future__ import annotations

import json
import unicodedata
from itertools import chain
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.data import CORPORA, corpus, needs_data, shared
from tests.support.sentencepiece_models import library, real
from tokenizer_core import Tokenizer, export

SETS = (
    "spm-unigram-nmt_nfkc",
    "spm-unigram-identity",
    "spm-unigram-bytes",
    "spm-unigram-suffix",
    "spm-unigram-symbols",
    "spm-unigram-nodummy",
    "spm-bpe-llama2",
    "spm-bpe-gemma",
    "spm-bpe-nobytes",
    "mistral-spm-v1",
    "spm-char",
    "spm-word",
)


def load(name: str) -> Tokenizer:
    return Tokenizer.load(shared(f"families/{name}"))


def encode(tokenizer: Tokenizer, text: str) -> list[int]:
    return tokenizer.encode(text, special_tokens="text").tolist()


@needs_data
@pytest.mark.parametrize("name", SETS)
def test_golden_cases_have_the_library_s_ids_and_text(name):
    tokenizer = load(name)
    cases = [json.loads(line) for line in (shared(f"families/{name}") / "cases.jsonl").read_bytes().splitlines()]
    assert cases
    for case in cases:
        text, ids = case["text"], case["ids"]
        assert encode(tokenizer, text) == ids, text
        assert tokenizer.count(text, special_tokens="text") == len(ids)
        assert tokenizer.decode(ids) == case["decoded"], text
        stream = tokenizer.stream_decoder()
        assert "".join(stream.push([id]) for id in ids) + stream.finish() == case["decoded"]
        found = tokenizer.offsets(text, "byte", special_tokens="text")
        assert found.ids.tolist() == ids


@needs_data
@pytest.mark.parametrize("name", SETS)
def test_spans_are_those_of_the_library_but_for_what_it_drops(name):
    tokenizer = load(name)
    same = narrower = 0
    for line in (shared(f"families/{name}") / "cases.jsonl").read_bytes().splitlines():
        case = json.loads(line)
        text = case["text"].encode()
        if unicodedata.normalize("NFKC", case["text"]) != case["text"]:
            # Of a character that becomes several, the library gives the first tokens nothing; here each has it whole.
            continue
        spans = tokenizer.offsets(case["text"], "byte", special_tokens="text").spans.tolist()
        for token, ours, theirs in zip(case["tokens"], spans, case["spans_byte"], strict=True):
            if token.startswith("<0x"):
                # It gives the last byte of a character all of it, and the others nothing.
                assert theirs[0] <= ours[0]
                assert ours[1] == ours[0] + 1
                assert theirs[0] == theirs[1] or ours[1] == theirs[1]
            elif ours == theirs:
                same += 1
            else:
                # It gives a token the text behind it that was dropped.
                assert theirs[0] == ours[0] <= ours[1] <= theirs[1], (case["text"], token, ours, theirs)
                assert not text[ours[1] : theirs[1]].decode().strip("\t\n\r \0\x01\x02\x07\x0b\x0c\x1b\x7f\u200b\ufeff")
                narrower += 1
    assert same > 10 * narrower


@pytest.mark.nightly
@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("language", CORPORA)
def test_corpora_line_by_line(name, language):
    tokenizer, truth = load(name), library(real(name))
    lines = corpus(language).splitlines(keepends=True)
    once = [*dict.fromkeys(lines)]
    ids_of = dict(zip(once, truth.encode(once), strict=True))
    ids = np.fromiter(chain.from_iterable(map(ids_of.__getitem__, lines)), np.uint32)
    ends = np.cumsum([len(ids_of[line]) for line in lines])
    for _ in range(2):
        batch = tokenizer.encode_batch(lines, special_tokens="text")
        apart = np.flatnonzero(batch.row_offsets[1:] != ends)
        assert not apart.size, lines[apart[0]]
        apart = np.flatnonzero(batch.ids != ids)
        assert not apart.size, lines[np.searchsorted(ends, apart[0], "right")]


@needs_data
@pytest.mark.parametrize("name", SETS)
def test_random_text_has_the_library_s_ids_and_comes_back_as_there(name):
    tokenizer, truth = load(name), library(real(name))

    @settings(max_examples=300)
    @given(
        st.text(st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from(" ▁\t\naA1.éﬁ①漢<s>")), max_size=40)
    )
    def check(text):
        ids = truth.encode(text)
        assert encode(tokenizer, text) == ids
        assert tokenizer.decode(ids) == truth.decode(ids)

    check()


@pytest.mark.nightly
@needs_data
@pytest.mark.parametrize("name", SETS)
def test_random_ids_are_decoded_as_by_the_library_in_any_parts(name):
    tokenizer, truth = load(name), library(real(name))
    limit = truth.get_piece_size()

    @settings(max_examples=300)
    @given(st.lists(st.one_of(st.integers(0, limit - 1), st.integers(0, min(300, limit - 1))), max_size=20), st.data())
    def check(ids, data):
        expected = truth.decode(ids)
        assert tokenizer.decode(ids) == expected
        stream, text, rest = tokenizer.stream_decoder(), "", ids
        while rest:
            size = data.draw(st.integers(1, len(rest)))
            text += stream.push(rest[:size])
            rest = rest[size:]
        assert text + stream.finish() == expected

    check()


@pytest.mark.nightly
@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_every_character_alone_and_between_others(name):
    tokenizer, truth = load(name), library(real(name))
    characters = [chr(point) for point in range(1, 0x30000) if not 0xD800 <= point < 0xE000]
    for texts in (characters, [f"a{character}\u0301 b" for character in characters]):
        batch = tokenizer.encode_batch(texts, special_tokens="text")
        for index, expected in enumerate(truth.encode(texts)):
            assert batch[index].tolist() == expected, hex(ord(characters[index]))


@needs_data
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(
    "text",
    ["\u0301" * 6_000, "漢" * 6_000, "é🙂" * 3_000, "".join(Random(5).choices("\u0301漢é🙂ꙮ a▁", k=40_000))],
    ids=["marks", "ideographs", "pairs", "mixed"],
)
def test_a_sum_of_many_unknown_characters_has_the_library_s_ids(name, text):
    """Where their bytes are tokens, the sum is looked at behind each: also within a character."""
    ids = load(name).encode(text, special_tokens="text")
    assert np.array_equal(ids, np.array(library(real(name)).encode(text), dtype=np.uint32))


@pytest.mark.nightly
@needs_data
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("text", ["a" * 1_000_000, " " * 1_000_000, "▁" * 300_000, "漢" * 300_000, "\u0301" * 300_000])
def test_hostile_sizes_have_the_library_s_ids(name, text):
    ids = load(name).encode(text, special_tokens="text")
    assert np.array_equal(ids, np.array(library(real(name)).encode(text), dtype=np.uint32))


@needs_data
@pytest.mark.parametrize("name", [name for name in SETS if "unigram" in name])
def test_a_long_mixed_text_has_the_library_s_sums(name):
    text = "".join(corpus(language)[:200_000] for language in CORPORA)
    ids = load(name).encode(text, special_tokens="text")
    assert np.array_equal(ids, np.array(library(real(name)).encode(text), dtype=np.uint32))


@needs_data
@pytest.mark.parametrize("name", SETS)
def test_an_artifact_keeps_the_model_and_the_hash(name, tmp_path):
    tokenizer = load(name)
    tokenizer.save(tmp_path / "saved")
    again = Tokenizer.open(tmp_path / "saved")
    assert again.hash == tokenizer.hash
    assert (tmp_path / "saved" / "tokenizer.model").read_bytes() == real(name)
    assert not tokenizer.config.lossless


@needs_data
@pytest.mark.parametrize("name", SETS)
def test_an_export_is_the_directory_that_sentencepiece_and_we_read_alike(name, tmp_path):
    tokenizer = load(name)
    for file, content in export.to_huggingface(tokenizer.parts).items():
        (tmp_path / file).write_bytes(content)
    assert (tmp_path / "tokenizer.model").read_bytes() == real(name)
    assert Tokenizer.load(tmp_path).hash == tokenizer.hash
