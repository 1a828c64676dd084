"""GPT-2's layout: the first merge is never lost, and every refusal names the file and the line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tokenizers import Tokenizer as HuggingFace

from tests.core.formats.small import MERGES, document, write
from tests.support.data import needs_data, shared, vectors
from tokenizer_core import Tokenizer, Unsupported, export, train
from tokenizer_core.config import AddedToken
from tokenizer_core.errors import TokdError
from tokenizer_core.formats import hf_json, vocab_merges

VOCAB = json.dumps(document()["model"]["vocab"], ensure_ascii=False).encode()
LINES = "\n".join(MERGES)
SPECIAL = {"<|end|>": 264}
SPECIAL_TOKENS = (AddedToken(id=264, content="<|end|>", special=True),)


def parse(merges: str | bytes, vocab: bytes = VOCAB):
    data = merges if isinstance(merges, bytes) else merges.encode()
    return vocab_merges.parse(vocab, data, pattern="gpt2", added=SPECIAL_TOKENS)


@pytest.mark.parametrize(
    "merges",
    [
        LINES,
        LINES + "\n",
        "#version: 0.2\n" + LINES,
        "#version: 0.2\n" + LINES + "\n",
        "#version: 0.2\r\n" + LINES.replace("\n", "\r\n") + "\r\n",
    ],
    ids=["bare", "newline", "version", "both", "crlf"],
)
def test_every_way_to_write_the_merges_is_the_same(merges, tmp_path):
    expected = hf_json.read(write(tmp_path, document()))
    parts = parse(merges)
    assert parts.vocabulary.digest == expected.vocabulary.digest
    assert parts.config == expected.config


def test_no_merges_at_all_are_no_merges():
    assert parse("").vocabulary.merges() == parse("#version: 0.2").vocabulary.merges() == []


def test_a_merge_of_number_signs_is_no_version_line():
    vocab = json.dumps(document()["model"]["vocab"] | {"##": 900}).encode()
    assert parse("# #\n" + LINES, vocab).vocabulary.merges()[0] == (b"#", b"#")


REFUSED = [
    ("h e\n\nl l", "invalid_file", "merges.txt line 2"),
    ("#version: 0.2\nh e\n\nl l", "invalid_file", "merges.txt line 3"),
    ("h e\n\n", "invalid_file", "merges.txt line 2"),
    ("h e l", "invalid_file", "merges.txt line 1"),
    ("h e\nhe", "invalid_file", "merges.txt line 2"),
    ("h e\nl  l", "invalid_file", "merges.txt line 2"),
    ("h e\nl l ", "invalid_file", "merges.txt line 2"),
    ("h e\nl\tl", "invalid_file", "merges.txt line 2"),
    ("h e\nq q", "merge_out_of_vocab", "merges.txt line 2"),
    ("h e\nl l\nh e", "invalid_file", "merges.txt line 3"),
    ("h e\n#version: 0.2", "invalid_file", "merges.txt line 2"),
    (b"h e\n\xff", "invalid_file", "merges.txt"),
    (b"\xef\xbb\xbfh e", "invalid_file", "merges.txt"),
]


@pytest.mark.parametrize(("merges", "code", "field"), REFUSED, ids=[str(case[0])[:20] for case in REFUSED])
def test_broken_merges_are_refused_with_their_line(merges, code, field):
    with pytest.raises(TokdError) as caught:
        parse(merges)
    assert (caught.value.code, caught.value.place["field"]) == (code, field)


BROKEN = [
    (b"[]", "invalid_file", "vocab.json"),
    (b"", "invalid_file", "vocab.json"),
    (b"[" * 200_000, "invalid_file", "vocab.json[0]"),
    (b'{"a":' * 200_000, "invalid_file", "vocab.json.a"),
    (b"\xef\xbb\xbf{}", "invalid_file", "vocab.json"),
    (VOCAB[:-1] + b', "x y": -1}', "id_out_of_range", 'vocab.json["x y"]'),
    (VOCAB[:-1] + b', "xyz": 259}', "duplicate_id", "vocab.json.xyz"),
    (VOCAB[:-1] + b', "hello": 900}', "duplicate_token", "vocab.json.hello"),
    (VOCAB[:-1] + b', "<|end|>": 900}', "id_conflict", "added_tokens[0].id"),
    (VOCAB + b"{}", "invalid_file", "vocab.json"),
]


@pytest.mark.parametrize(("vocab", "code", "field"), BROKEN, ids=[f"{case[1]}-{case[2]}" for case in BROKEN])
def test_broken_vocabularies_are_refused_with_their_entry(vocab, code, field):
    with pytest.raises(TokdError) as caught:
        parse(LINES, vocab)
    assert (caught.value.code, caught.value.place["field"]) == (code, field)


def test_what_is_written_reads_back_as_the_same(tmp_path):
    parts = hf_json.read(write(tmp_path, document()))
    vocab, merges = vocab_merges.render(parts)
    again = vocab_merges.parse(vocab, merges, pattern="gpt2", added=SPECIAL_TOKENS)
    assert (again.vocabulary.digest, again.config) == (parts.vocabulary.digest, parts.config)


def test_a_directory_without_tokenizer_json_is_read(tmp_path):
    entries = document()["model"]["vocab"] | SPECIAL
    (tmp_path / "vocab.json").write_text(json.dumps(entries))
    (tmp_path / "merges.txt").write_text(LINES)
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "GPT2Tokenizer", "eos_token": "<|end|>"}')
    (tmp_path / "special_tokens_map.json").write_text('{"bos_token": "<|end|>"}')
    parts = hf_json.read(tmp_path)
    expected = hf_json.read(write(tmp_path / "whole", document()))
    assert (parts.vocabulary.digest, parts.config) == (expected.vocabulary.digest, expected.config)
    assert (parts.settings.bos, parts.settings.eos) == ("<|end|>", "<|end|>")


def test_added_tokens_of_such_a_directory_keep_their_ids_and_flags(tmp_path):
    flags = {"lstrip": True, "rstrip": False, "normalized": True, "single_word": False, "special": True}
    config = {"added_tokens_decoder": {"264": {"content": "<|end|>", **flags}}, "eos_token": "<|end|>"}
    (tmp_path / "vocab.json").write_bytes(VOCAB)
    (tmp_path / "merges.txt").write_text(LINES)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    (tmp_path / "added_tokens.json").write_text('{"<|end|>": 264, "<mask>": 265, "more": 266}')
    (tmp_path / "special_tokens_map.json").write_text('{"mask_token": "<mask>"}')
    assert hf_json.read(tmp_path).config.added_tokens == (
        AddedToken(id=264, content="<|end|>", **flags),
        AddedToken(id=265, content="<mask>", special=True),
        AddedToken(id=266, content="more"),
    )


@pytest.mark.parametrize(
    ("config", "code"),
    [({"tokenizer_class": "WhisperTokenizer"}, "unsupported"), ({"eos_token": "<absent>"}, "invalid_file")],
)
def test_a_directory_that_needs_guessing_is_refused(config, code, tmp_path):
    (tmp_path / "vocab.json").write_bytes(VOCAB)
    (tmp_path / "merges.txt").write_text(LINES)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    with pytest.raises(TokdError) as caught:
        hf_json.read(tmp_path)
    assert caught.value.code == code


def test_a_directory_with_neither_is_not_found(tmp_path):
    (tmp_path / "vocab.json").write_bytes(VOCAB)
    with pytest.raises(TokdError) as caught:
        hf_json.read(tmp_path)
    assert caught.value.code == "artifact_not_found"


@needs_data
@pytest.mark.parametrize(
    "id", ["mergestxt-no-trailing-newline", "mergestxt-no-header", "mergestxt-blank-lines", "mergestxt-three-parts"]
)
def test_vectors_of_merges(id, tmp_path):
    case = next(case for case in vectors() if case["id"] == id)
    merges = shared("vocabs/gpt2_merges.txt").read_text("utf-8")
    written = {
        "mergestxt-no-trailing-newline": "#version: 0.2\n" + merges.rstrip("\n"),
        "mergestxt-no-header": merges,
        "mergestxt-blank-lines": merges.replace("\n", "\n\n", 1),
        "mergestxt-three-parts": merges + "a b c\n",
    }[id]
    path = tmp_path / "merges.txt"
    path.write_text(written, "utf-8", newline="")
    expected = case["expected"]["ids_or_rule"]
    if isinstance(expected, str):
        with pytest.raises(TokdError, match="two parts") as caught:
            Tokenizer.from_vocab_merges(shared("vocabs/gpt2_vocab.json"), path)
        assert caught.value.place["field"].startswith("merges.txt line ")
    else:
        tokenizer = Tokenizer.from_vocab_merges(shared("vocabs/gpt2_vocab.json"), path)
        assert tokenizer.encode(case["input"]["text"]).tolist() == expected


@needs_data
def test_gpt2_is_the_same_tokenizer_in_both_layouts():
    whole = Tokenizer.from_hf(shared("vocabs/gpt2_tokenizer.json"))
    special = {"<|endoftext|>": 50256}
    parts = Tokenizer.from_vocab_merges(
        shared("vocabs/gpt2_vocab.json"), shared("vocabs/gpt2_merges.txt"), special_tokens=special
    )
    assert whole.merges == parts.merges
    assert vocab_merges.render(parts.parts)[1].split(b"\n", 1)[1] == shared("vocabs/gpt2_merges.txt").read_bytes()


def test_a_merge_that_readers_would_skip_is_refused() -> None:
    trained = train(iter(["#version1 #version1 x#versiony"] * 3), 300, pattern=r"\s+|\S+")
    with pytest.raises(Unsupported, match="begins with #version") as refused:
        export.to_vocab_merges(trained.parts)
    rank = int(refused.value.place["field"].removeprefix("merges[").removesuffix("]"))
    assert trained.merges[rank][0].startswith(b"#version")


def test_a_merge_that_readers_would_skip_as_a_string_is_saved_as_a_pair(tmp_path: Path) -> None:
    trained = train(iter(["#version1 #version1 x#versiony"] * 3), 300, pattern=r"\s+|\S+")
    trained.save(tmp_path / "saved")
    saved = tmp_path / "saved" / "tokenizer.json"
    text = "#version1 x#version"
    assert HuggingFace.from_file(str(saved)).encode(text).ids == trained.encode(text).tolist()
    whole = json.loads(saved.read_text("utf-8"))
    whole["model"]["merges"] = [" ".join(pair) for pair in whole["model"]["merges"]]
    assert HuggingFace.from_str(json.dumps(whole)).encode(text).ids != trained.encode(text).tolist()
    with pytest.raises(TokdError, match="#version") as refused:
        Tokenizer.from_hf(write(tmp_path / "strings", whole))
    rank = int(refused.value.place["field"].removeprefix("model.merges[").removesuffix("]"))
    assert whole["model"]["merges"][rank].startswith("#version")
