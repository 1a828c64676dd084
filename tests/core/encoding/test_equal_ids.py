"""Equal ids: every corpus, every real vocabulary, against the models' own tokenizers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tiktoken
import tokenizers

from tests.support import tiny, vocabularies
from tests.support.data import CORPORA, corpus, needs_data, shared
from tests.support.texts import ALPHABET
from tokenizer_core import Tokenizer

HUGGING_FACE_CHARACTERS = 150_000
"""A part of each corpus: Hugging Face's library encodes 1 to 2 MB a second."""
LINES = 10_000
"""A part of each corpus where a call for each line is what takes long."""


def first_difference(ours: np.ndarray, theirs: np.ndarray) -> str:
    """Say where two rows of ids part, or nothing when they are equal."""
    if np.array_equal(ours, theirs):
        return ""
    shorter = min(len(ours), len(theirs))
    apart = np.flatnonzero(ours[:shorter] != theirs[:shorter])
    at = int(apart[0]) if len(apart) else shorter
    return f"ids part at {at}: {ours[at : at + 5].tolist()} against {theirs[at : at + 5].tolist()}"


@pytest.mark.nightly
@needs_data
@pytest.mark.parametrize("name", vocabularies.TIKTOKEN)
@pytest.mark.parametrize("language", CORPORA)
def test_a_whole_corpus_is_as_in_tiktoken(name: str, language: str) -> None:
    text = corpus(language)
    theirs = vocabularies.tiktoken_encoding(name).encode_to_numpy(text, disallowed_special=())
    ours = vocabularies.tokenizer(name).encode(text, special_tokens="text")
    assert first_difference(ours, theirs) == ""


@pytest.mark.nightly
@needs_data
@pytest.mark.parametrize("name", vocabularies.TIKTOKEN)
@pytest.mark.parametrize("language", CORPORA)
def test_a_corpus_by_line_is_as_in_tiktoken(name: str, language: str) -> None:
    lines = corpus(language).split("\n")[-LINES:]
    theirs = vocabularies.tiktoken_encoding(name).encode_ordinary_batch(lines, num_threads=1)
    ours = vocabularies.tokenizer(name).encode_batch(lines, special_tokens="ordinary")
    assert first_difference(ours.ids, np.concatenate([np.asarray(row, np.uint32) for row in theirs])) == ""
    assert ours.row_offsets.tolist() == [0, *np.cumsum([len(row) for row in theirs])]


@needs_data
@pytest.mark.parametrize("name", vocabularies.HUGGING_FACE)
@pytest.mark.parametrize("language", CORPORA)
def test_a_corpus_is_as_in_hugging_face(name: str, language: str) -> None:
    text = corpus(language)[:HUGGING_FACE_CHARACTERS]
    theirs = vocabularies.hugging_face(name).encode(text, add_special_tokens=False)
    ours = vocabularies.tokenizer(name).encode(text, special_tokens="parse")
    assert first_difference(ours, np.asarray(theirs.ids)) == ""


@needs_data
@pytest.mark.parametrize("name", vocabularies.HUGGING_FACE)
@pytest.mark.parametrize("language", CORPORA)
def test_a_corpus_by_line_is_as_in_hugging_face(name: str, language: str) -> None:
    lines = corpus(language)[-HUGGING_FACE_CHARACTERS:].split("\n")
    theirs = vocabularies.hugging_face(name).encode_batch(lines, add_special_tokens=False)
    ours = vocabularies.tokenizer(name).encode_batch(lines, special_tokens="parse")
    assert [row.tolist() for row in ours] == [row.ids for row in theirs]


@needs_data
@pytest.mark.parametrize("name", ["qwen2", "llama3"])
def test_texts_of_other_projects_have_their_ids(name: str) -> None:
    # Each text is ended by the line, so nothing stands after the last.
    *inputs, rest = shared(f"vectors/{name}.inp").read_bytes().decode("utf-8").split("\n__ggml_vocab_test__\n")
    assert rest == ""
    expected = [
        [int(id) for id in line.split()]
        for line in shared(f"vectors/{name}.out").read_text("utf-8").removesuffix("\n").split("\n")
    ]
    ours = vocabularies.tokenizer(name).encode_batch(inputs)
    assert [row.tolist() for row in ours] == expected


@needs_data
def test_gpt2_is_the_same_from_both_layouts(gpt2: Tokenizer) -> None:
    files = shared("vocabs/gpt2_vocab.json"), shared("vocabs/gpt2_merges.txt")
    other = Tokenizer.from_vocab_merges(*files, special_tokens={"<|endoftext|>": 50256})
    text = corpus("code")[:500_000]
    assert np.array_equal(gpt2.encode(text), other.encode(text))
    assert gpt2.merges == other.merges


@pytest.fixture(scope="module")
def tiny_tiktoken() -> tiktoken.Encoding:
    """The tiny vocabulary in tiktoken."""
    return vocabularies.tiktoken_encoding("tiny")


@pytest.fixture(scope="module")
def tiny_hugging_face() -> tokenizers.Tokenizer:
    """The tiny vocabulary in Hugging Face's library."""
    merges = [tuple(line.split(" ")) for line in tiny.merges_txt().splitlines()[1:]]
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE(tiny.vocab(), merges))
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    theirs.decoder = tokenizers.decoders.ByteLevel()
    return theirs


def tiny_texts() -> list[str]:
    """Texts for the tiny vocabulary: its own corpus, every hostile character in context, random mixtures."""
    mixtures = np.random.default_rng(7).choice(np.array(ALPHABET), (400, 25))
    return [tiny.TEXT, *(f"a{unit}b {unit} {unit}{unit}1" for unit in ALPHABET), *map("".join, mixtures)]


def test_a_trained_vocabulary_is_the_same_in_tiktoken(tiny: Tokenizer, tiny_tiktoken: tiktoken.Encoding) -> None:
    texts = tiny_texts()
    ours = tiny.encode_batch(texts, special_tokens="ordinary")
    assert [row.tolist() for row in ours] == tiny_tiktoken.encode_ordinary_batch(texts)


def test_a_trained_vocabulary_is_the_same_in_hugging_face(
    tiny: Tokenizer, tiny_hugging_face: tokenizers.Tokenizer
) -> None:
    texts = tiny_texts()
    theirs = tiny_hugging_face.encode_batch(texts)
    assert [row.tolist() for row in tiny.encode_batch(texts, special_tokens="ordinary")] == [row.ids for row in theirs]
    for text, row in zip(texts, theirs, strict=True):
        assert tiny.decode(row.ids) == tiny_hugging_face.decode(row.ids) == text


def test_a_saved_artifact_is_the_same_in_hugging_face(tiny: Tokenizer, tmp_path: Path) -> None:
    tiny.save(tmp_path / "tiny")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tiny" / "tokenizer.json"))
    texts = [*tiny_texts(), "a<|end|>b"]
    ours = [row.tolist() for row in tiny.encode_batch(texts, special_tokens="parse")]
    assert ours == [row.ids for row in theirs.encode_batch(texts)]
    again = Tokenizer.open(tmp_path / "tiny")
    assert again.hash == tiny.hash
    assert ours == [row.tolist() for row in again.encode_batch(texts, special_tokens="parse")]


@pytest.mark.nightly
@needs_data
@pytest.mark.parametrize("name", vocabularies.REAL)
def test_a_saved_real_artifact_is_the_same_in_hugging_face(name: str, tmp_path: Path) -> None:
    ours = vocabularies.tokenizer(name)
    ours.save(tmp_path / name)
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / name / "tokenizer.json"))
    texts = [*tiny_texts(), corpus("ja")[:5_000], corpus("code")[:20_000], "a<|endoftext|> b"]
    expected = [row.ids for row in theirs.encode_batch(texts, add_special_tokens=False)]
    assert [row.tolist() for row in ours.encode_batch(texts, special_tokens="parse")] == expected
    again = Tokenizer.open(tmp_path / name)
    assert again.hash == ours.hash
    assert [row.tolist() for row in again.encode_batch(texts, special_tokens="parse")] == expected


def test_ids_are_written_as_json(tiny: Tokenizer) -> None:
    for text in tiny_texts():
        written, count = vocabularies.answered(tiny, text)
        ids = tiny.encode(text, special_tokens="parse").tolist()
        assert json.loads(written) == {"ids": ids, "count": len(ids)}
        assert count == tiny.count(text, special_tokens="parse") == len(ids)
